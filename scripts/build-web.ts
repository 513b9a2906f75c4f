/**
 * Builds the web page into `web/dist`, unless what is there was made of the same sources. `npm install` runs it, so that a clone
 * can serve the page at once.
 */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const root = fileURLToPath(new URL('../', import.meta.url))
const web = join(root, 'web')
const dist = join(web, 'dist')
const MARK = join(dist, '.sources')
/** What shows the API reference, as it is published. */
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const SWAGGER_UI_FILES = [
  'LICENSE',
  'NOTICE',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
]
const SOURCES = [
  'web/{src,public}/**/*.{ts,tsx,css,js,svg}',
  'web/{index.html,vite.config.ts,guides-plugin.ts}',
  'docs/{*,tasks/*}.md',
  'client/src/*.ts',
  'package-lock.json',
  'scripts/build-web.ts',
]

/** Of all that the page is made of. */
function hashSources(): string {
  const hash = createHash('sha256')
  for (const file of globSync(SOURCES, { cwd: root }).sort()) {
    if (!file.includes('.test.')) hash.update(`${file}\0`).update(readFileSync(join(root, file)))
  }
  return hash.digest('hex')
}

export async function buildWeb(): Promise<void> {
  const hash = hashSources()
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === hash) return
  const vite = await import('vite').catch(() => null)
  if (!vite) {
    console.error(
      'The web page is not built: that takes the development packages. `npm install` brings them.',
    )
    return
  }
  await vite.build({ root: web, logLevel: 'warn' })
  for (const file of SWAGGER_UI_FILES) cpSync(join(SWAGGER_UI, file), join(dist, 'assets/swagger-ui', file))
  for (const file of globSync('**/*.{js,css,svg}', { cwd: dist })) compress(join(dist, file))
  writeFileSync(MARK, hash)
}

/** Beside the file, for browsers that take it so. */
function compress(file: string): void {
  if (statSync(file).size < 1024) return
  const bytes = readFileSync(file)
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  writeFileSync(`${file}.br`, brotliCompressSync(bytes))
}

if (import.meta.main) await buildWeb()

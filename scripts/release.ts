/**
 * `npm run release -- [--dry-run] [--out FOLDER] VERSION` (docs/releasing.md): names the version everywhere, builds the archives
 * with their checksums, a software bill of materials and the release notes, then commits and tags. It publishes nothing; it prints
 * the commands for that. A dry run changes nothing outside of FOLDER (`dist`).
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { copyWorkTree } from './copy-work-tree.ts'
import { nameVersion } from './named-versions.ts'
import { checkRelease, findSection } from './release-checks.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
/** Their code is in the published command: the service, the command line, the page. The TypeScript library has no dependencies. */
const SHIPPED = ['runyard', '@runyard/server', '@runyard/web']
const ARCHIVES = 5
const REGISTRY = 'ghcr.io/runyard'

const { values, positionals } = readArguments()
const [version = ''] = positionals
const out = resolve(values.out)
const { refusals, open } = checkRelease(root, version)
if (positionals.length > 1) refusals.push('Give one version.')
if (refusals.length > 0) stop(refusals)
if (open.length > 0 && !values['dry-run']) stop(open)
for (const line of open) console.log(`Not ready yet: ${line}`)

const changed = nameVersion(root, version)
const is_copy = values['dry-run'] && changed.size > 0
const place = is_copy ? mkdtempSync(join(tmpdir(), 'runyard-release-')) : root
try {
  if (is_copy) copyWorkTree(root, place)
  for (const [file, text] of changed) writeFileSync(join(place, file), text)
  console.log(
    changed.size > 0 ? `Named ${version} in ${[...changed.keys()].join(', ')}` : `All files name ${version}.`,
  )
  if (changed.size > 0) run(process.execPath, ['scripts/generate.ts'])
  if (!values['dry-run']) {
    run(process.execPath, ['scripts/api-changes.ts', '--release'])
    run(process.execPath, ['scripts/check.ts'])
  }
  const archives = buildArchives()
  const others = [writeMaterials(), writeNotes()]
  writeChecksums([...archives, ...others])
  if (!values['dry-run']) commitAndTag()
  printCommands(archives, others)
} finally {
  if (is_copy) rmSync(place, { recursive: true, force: true })
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean', default: false },
        out: { type: 'string', default: join(root, 'dist') },
      },
    })
  } catch (error) {
    stop([error instanceof Error ? error.message : String(error)])
  }
}

function stop(problems: readonly string[]): never {
  for (const problem of problems) console.error(problem)
  process.exit(1)
}

/** What a program prints goes to stderr: this command's own answer is on stdout. */
function run(command: string, args: readonly string[]): string {
  return execFileSync(command, args, {
    cwd: place,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  })
}

function buildArchives(): string[] {
  const packed = run(process.execPath, ['scripts/pack.ts', out]).split('\n').filter(Boolean)
  if (packed.length !== ARCHIVES)
    throw new Error(
      `npm run pack built ${packed.length} archives of ${ARCHIVES}; see above for what is missing.`,
    )
  return packed.map((file) => join(out, basename(file)))
}

/**
 * CycloneDX, from the lock file: which packages' code is in the published command. To npm the page's packages are for development,
 * and it leaves these out if NODE_ENV says so.
 */
function writeMaterials(): string {
  const workspaces = SHIPPED.flatMap((name) => ['--workspace', name])
  const file = join(out, `runyard-${version}.cdx.json`)
  writeFileSync(
    file,
    run('npm', [
      'sbom',
      '--sbom-format',
      'cyclonedx',
      '--package-lock-only',
      '--include',
      'dev',
      ...workspaces,
    ]),
  )
  return file
}

function writeNotes(): string {
  const section = findSection(readFileSync(join(place, 'CHANGELOG.md'), 'utf8'), version)
  const file = join(out, `runyard-${version}.notes.md`)
  writeFileSync(file, `${section?.text ?? ''}\n`)
  return file
}

/** In the format that `sha256sum --check` reads. */
function writeChecksums(files: readonly string[]): void {
  const lines = files.map(
    (file) => `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${basename(file)}\n`,
  )
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''))
  console.log(`\n${show(join(out, 'SHA256SUMS'))}\n${lines.join('')}`)
}

/** After a crash between the two, the next try finds nothing to commit and sets the tag. */
function commitAndTag(): void {
  run('git', ['add', '--update'])
  if (run('git', ['status', '--porcelain']) !== '')
    run('git', ['commit', '--quiet', '-m', `Release ${version}`])
  run('git', ['tag', '--annotate', `v${version}`, '-m', `Runyard ${version}`])
  console.log(`Committed and tagged v${version}. Nothing is published yet.`)
}

function printCommands(archives: readonly string[], others: readonly string[]): void {
  // The library first, so that the command is never there without it.
  const npm = archives
    .filter((file) => file.endsWith('.tgz') && !file.endsWith('.chart.tgz'))
    .map(show)
    .reverse()
  const [image = '', chart = ''] = ['.image.tar.gz', '.chart.tgz'].map((ending) =>
    show(archives.find((file) => file.endsWith(ending)) ?? ''),
  )
  const wheels = archives.filter((file) => file.endsWith('.whl')).map(show)
  const files = [...archives, ...others.slice(0, 1), join(out, 'SHA256SUMS')].map(show)
  console.log(`${values['dry-run'] ? 'A release would be published with' : 'Publish it with'}
  git push origin HEAD v${version}
${npm.map((file) => `  npm publish --provenance=false ${file}`).join('\n')}
  twine upload ${wheels.join(' ')}
  docker buildx build --platform linux/amd64,linux/arm64 --push --tag ${REGISTRY}/runyard:${version} - < ${image}
  helm push ${chart} oci://${REGISTRY}/charts
  gh release create v${version} --verify-tag --title ${version} --notes-file ${show(others[1] ?? '')} ${files.join(' ')}`)
}

/** As one types it here. */
function show(file: string): string {
  const path = relative(process.cwd(), file)
  const shorter = path.startsWith('..') ? file : path
  return /^[\w./@+-]+$/.test(shorter) ? shorter : `'${shorter.replaceAll("'", "'\\''")}'`
}

/** Who may import whom (AGENTS.md). Prints each import that runs back, and each circle; exits 1 when there is one. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { CONTRACT_PACKAGES, PACKAGES, RULES } from './rooms.ts'

const root = new URL('../', import.meta.url)
const tracked = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
const files = tracked
  .trim()
  .split('\n')
  .filter((file) => !/(\.test\.tsx?|\.gen\.ts)$|(^|\/)test\//.test(file))

const roomOf = (file: string): string | undefined =>
  Object.keys(RULES)
    .filter((room) => file.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0]

const problems: string[] = []
const graph = new Map<string, string[]>()

for (const file of files) {
  const room = roomOf(file)
  if (!room) continue
  const source = readFileSync(new URL(file, root), 'utf8')
  const { importedFiles } = ts.preProcessFile(source, true, true)
  const of_types = readTypeImports(source)
  const targets: string[] = []
  for (const { fileName } of importedFiles) {
    if (!fileName.startsWith('.')) {
      checkPackage(file, room, fileName)
      continue
    }
    if (/\.(m|c)?js$/.test(fileName)) continue
    const target = normalize(join(dirname(file), fileName))
    targets.push(target)
    const inside = room === 'server/src' || target.startsWith(`${room}/`)
    const rules = [target, ...(of_types.has(fileName) ? [`type ${target}`] : [])]
    const allowed =
      inside || RULES[room]?.some((rule) => rules.some((one) => one === rule || one.startsWith(`${rule}/`)))
    if (!allowed) problems.push(`${file} may not import ${target}`)
  }
  graph.set(file, targets)
}

/** The files that a file imports by `import type` alone. */
function readTypeImports(source: string): Set<string> {
  const imports = ts
    .createSourceFile('file.ts', source, ts.ScriptTarget.Latest)
    .statements.filter(ts.isImportDeclaration)
    .map(({ importClause, moduleSpecifier }) => ({
      name: ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : '',
      is_type: importClause?.isTypeOnly === true,
    }))
  const others = new Set(imports.filter(({ is_type }) => !is_type).map(({ name }) => name))
  return new Set(imports.map(({ name }) => name).filter((name) => !others.has(name)))
}

function checkPackage(file: string, room: string, specifier: string): void {
  if (specifier.startsWith('node:')) {
    if (room === 'server/src/contract')
      problems.push(`${file} may not import ${specifier}: contract imports zod only`)
    return
  }
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
  const owner = PACKAGES[name]
  if (owner && room !== owner && room !== 'server/src' && room !== 'bench') {
    problems.push(`${file} may not import ${name}: only ${owner} may`)
  }
  if (room === 'server/src/contract' && !CONTRACT_PACKAGES.includes(name)) {
    problems.push(`${file} may not import ${name}: contract imports zod only`)
  }
  if (room === 'client') problems.push(`${file} may not import ${name}: the client has no dependencies`)
}

const done = new Set<string>()
function visit(file: string, trail: readonly string[]): void {
  const seen = trail.indexOf(file)
  if (seen >= 0) {
    problems.push(`circle: ${[...trail.slice(seen), file].join(' → ')}`)
    return
  }
  if (done.has(file)) return
  for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
  done.add(file)
}
for (const file of graph.keys()) visit(file, [])

for (const problem of problems) console.error(problem)
process.exit(problems.length ? 1 : 0)

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import stripJsonComments from 'strip-json-comments'

/** The set-up that the files of a repository ask for. */
export interface FoundSetup {
  /** Run in the repository's folder, in this order. */
  setup_commands: string[]
  /** The container image that it names, or that fits its language. */
  docker_image?: string
  /** Each file that was read, with the command or the image that it names. */
  found: Array<{ file: string; says: string }>
}

/** A file, and the command that installs its dependencies. The first file that is there counts, for each language. */
type Rule = readonly [file: string, command: (repository: Reader) => string | null]

/** Files of one repository, by their path in it. */
interface Reader {
  has: (path: string) => boolean
  /** Empty where it cannot be read. */
  read: (path: string) => string
}

const always = (command: string) => () => command
/** The folder ignores itself, so that nothing of it is among the changes of a run. */
const VENV = "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install"

const LANGUAGES: ReadonlyArray<readonly Rule[]> = [
  [
    ['pnpm-lock.yaml', (files) => `npx --yes ${packageManager(files, 'pnpm')} install --frozen-lockfile`],
    [
      'yarn.lock',
      (files) =>
        files.has('.yarnrc.yml') || /^yarn@(?!1\.)/.test(namedManager(files))
          ? `npx --yes --package ${packageManager(files, '@yarnpkg/cli-dist')} yarn install --immutable`
          : 'npx --yes yarn@1 install --frozen-lockfile',
    ],
    ['bun.lock', always('npx --yes bun install --frozen-lockfile')],
    ['bun.lockb', always('npx --yes bun install --frozen-lockfile')],
    ['package-lock.json', always('npm ci')],
    ['npm-shrinkwrap.json', always('npm ci')],
    ['package.json', (files) => (dependsOnOthers(files) ? 'npm install' : null)],
  ],
  [
    ['uv.lock', always(`${VENV} uv && .venv/bin/uv sync`)],
    ['poetry.lock', always(`${VENV} poetry && .venv/bin/poetry install`)],
    ['Pipfile.lock', always(`${VENV} pipenv && .venv/bin/pipenv install --dev`)],
    ['requirements.txt', always(`${VENV} -r requirements.txt`)],
    // Many hold settings of tools alone.
    [
      'pyproject.toml',
      (files) => (/^\[(project|build-system)\]/m.test(files.read('pyproject.toml')) ? `${VENV} -e .` : null),
    ],
    ['setup.py', always(`${VENV} -e .`)],
  ],
  [['go.mod', always('go mod download')]],
  [
    ['Cargo.lock', always('cargo fetch --locked')],
    ['Cargo.toml', always('cargo fetch')],
  ],
  [['Gemfile', always('bundle install')]],
  [['composer.json', always('composer install --no-interaction')]],
  [
    ['mvnw', always('./mvnw --quiet dependency:go-offline')],
    ['pom.xml', always('mvn --quiet dependency:go-offline')],
    ['gradlew', always('./gradlew --quiet dependencies')],
  ],
  [['mix.exs', always('mix deps.get')]],
]

/** Where each language says its version, and the image that has it. */
const VERSIONS: ReadonlyArray<readonly [file: string, pattern: RegExp, image: (version: string) => string]> =
  [
    ['.nvmrc', /^v?(\d+)/, (version) => `node:${version}-bookworm`],
    ['.node-version', /^v?(\d+)/, (version) => `node:${version}-bookworm`],
    ['.python-version', /^(3\.\d+)/, (version) => `python:${version}-bookworm`],
    ['go.mod', /^go (1\.\d+)/m, (version) => `golang:${version}-bookworm`],
    ['.ruby-version', /^(?:ruby-)?(\d+\.\d+)/, (version) => `ruby:${version}-bookworm`],
  ]

const DEV_CONTAINERS = ['.devcontainer/devcontainer.json', '.devcontainer.json']
const WORKFLOWS = '.github/workflows'
const MOST_WORKFLOWS = 20

/** Reads the files at the top of a checkout, its dev container and its workflows; runs nothing. */
export function findSetup(directory: string): FoundSetup {
  const files: Reader = {
    has: (path) => existsSync(join(directory, path)),
    read: (path) => readText(join(directory, path)),
  }
  const found: FoundSetup['found'] = []
  const container = readDevContainer(files)
  const own = container.commands.map((says) => ({ file: container.file, says }))
  const installs = own.length > 0 ? own : LANGUAGES.flatMap((rules) => findInstall(files, rules))
  found.push(...installs)
  const image = container.image ?? readDockerfile(files) ?? readWorkflows(directory) ?? readVersion(files)
  if (image) found.push({ file: image.file, says: `image ${image.docker_image}` })
  return {
    setup_commands: installs.map(({ says }) => says),
    ...(image ? { docker_image: image.docker_image } : {}),
    found,
  }
}

function findInstall(files: Reader, rules: readonly Rule[]): FoundSetup['found'] {
  const rule = rules.find(([file]) => files.has(file))
  const says = rule?.[1](files)
  return rule && says ? [{ file: rule[0], says }] : []
}

/** An object in JSON, with comments or not; empty for anything else. */
function readObject(text: string): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(stripJsonComments(text, { trailingCommas: true }))
    return typeof read === 'object' && read !== null ? (read as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

const dependsOnOthers = (files: Reader): boolean => {
  const { dependencies, devDependencies, workspaces } = readObject(files.read('package.json'))
  return [dependencies, devDependencies, workspaces].some((of) => Object.keys(of ?? {}).length > 0)
}

/** As `packageManager` says it. */
function namedManager(files: Reader): string {
  const { packageManager: named } = readObject(files.read('package.json'))
  return typeof named === 'string' ? named : ''
}

/** `pnpm@9.1.0` by `packageManager`, which may end in a checksum; the newest where it says nothing. */
function packageManager(files: Reader, published: string): string {
  const version = /^(?:pnpm|yarn)@(\d[\w.-]*)/.exec(namedManager(files))?.[1]
  return version ? `${published}@${version}` : published
}

interface FoundImage {
  file: string
  docker_image: string
}

/** Its image, and its commands after making it. */
function readDevContainer(files: Reader): { file: string; commands: string[]; image?: FoundImage } {
  const file = DEV_CONTAINERS.find(files.has) ?? ''
  if (!file) return { file, commands: [] }
  const { image, postCreateCommand: after } = readObject(files.read(file))
  // A line for a shell, the words of one, or several with names.
  const several = typeof after === 'object' && !Array.isArray(after) ? Object.values(after ?? {}) : [after]
  return {
    file,
    commands: several.flatMap((each) => {
      const line = Array.isArray(each) ? each.map((word) => quote(String(word))).join(' ') : each
      return typeof line === 'string' && isPlain(line) ? [line.trim()] : []
    }),
    ...(typeof image === 'string' && isImage(image) ? { image: { file, docker_image: image } } : {}),
  }
}

const quote = (word: string): string =>
  /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** People are shown the command that will run: a second line behind a comment, or text that is turned around, would hide it. */
const isPlain = (line: string): boolean =>
  line.trim() !== '' && !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(line.trim())

/** The image of the first stage, which builds and has the tools. */
function readDockerfile(files: Reader): FoundImage | null {
  const [, name] = /(?<!\\\r?\n)^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)/im.exec(files.read('Dockerfile')) ?? []
  return name && isImage(name) && name !== 'scratch' ? { file: 'Dockerfile', docker_image: name } : null
}

/** The container that a job of a workflow runs in. */
function readWorkflows(directory: string): FoundImage | null {
  const folder = join(directory, WORKFLOWS)
  const is_folder = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
  const names = is_folder ? readdirSync(folder).filter((name) => /\.ya?ml$/.test(name)) : []
  for (const name of names.sort().slice(0, MOST_WORKFLOWS)) {
    const docker_image = containerOf(readText(join(folder, name)))
    if (docker_image) return { file: `${WORKFLOWS}/${name}`, docker_image }
  }
  return null
}

function containerOf(workflow: string): string | null {
  let read: unknown
  try {
    read = load(workflow)
  } catch {
    return null
  }
  for (const job of Object.values(fieldOf(read, 'jobs') ?? {})) {
    const container = (fieldOf(job, 'container') ?? '') as unknown
    const image = typeof container === 'string' ? container : fieldOf(container, 'image')
    if (typeof image === 'string' && isImage(image)) return image
  }
  return null
}

const fieldOf = (of: unknown, name: string): object | string | undefined =>
  typeof of === 'object' && of !== null
    ? (of as Record<string, object | string | undefined>)[name]
    : undefined

function readVersion(files: Reader): FoundImage | null {
  for (const [file, pattern, image] of VERSIONS) {
    const version = pattern.exec(files.read(file).trim())?.[1]
    if (version) return { file, docker_image: image(version) }
  }
  return null
}

/** Not one that is put together when it is built, as `$BASE` is. */
const isImage = (name: string): boolean => /^[a-z0-9][\w./:@-]*$/.test(name)

/** As much as anybody writes by hand into such a file. */
const MOST_BYTES = 1024 ** 2

/** Empty if the path is not a file, is too large, or cannot be read. */
function readText(file: string): string {
  try {
    const found = statSync(file)
    const is_read = found.isFile() && found.size <= MOST_BYTES
    return is_read ? readFileSync(file, 'utf8').replace(/^\ufeff/, '') : ''
  } catch {
    return ''
  }
}

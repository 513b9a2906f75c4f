import { basename } from 'node:path'
import { APIError, type Environment, type EnvironmentRequest } from '@runyard/client'
import type { Command } from 'commander'
import { askChoice } from '../ask.ts'
import { findOwn, findTop, type OwnRepository, rememberEnvironment } from '../checkout-repository.ts'
import { CommandFailure, EXIT, usageFailure } from '../failure.ts'
import { type FoundSetup, findSetup } from '../find-setup.ts'
import { oneLine } from '../one-line.ts'
import { nameRepository } from '../repository-option.ts'
import { openSession, type Session } from '../session.ts'
import { addConfigOptions, buildConfig, type ConfigOptions } from './environments.ts'

interface InitOptions extends ConfigOptions {
  yes?: boolean
  dryRun?: boolean
}

export function addInitCommand(program: Command): void {
  addConfigOptions(
    program
      .command('init')
      .summary('make an environment for the repository of this folder')
      .description(
        'Looks at the files of the git checkout here (lock files, Dockerfile, dev container, workflows), shows what runs would need, and makes an environment of it. Runs that are started in this folder use it from then on. Options add to what it finds, or come before it. Nothing of the repository is run or changed.',
      )
      .option('-n, --name <name>', 'of the environment; default: the name of the repository')
      .option('-y, --yes', 'make it without asking')
      .option('--dry-run', 'only print its config, as `runyard env create -f -` reads it'),
  ).action(init)
}

async function init({ yes = false, dryRun = false, ...options }: InitOptions): Promise<void> {
  const top = await findTop()
  if (top === null)
    throw usageFailure(
      'There is no git checkout here.',
      'cd into one, or say everything yourself: runyard env create',
    )
  const session = openSession(options)
  const { output } = session
  const own = await findOwn(session, top)
  if (own === null && !options.repo)
    throw usageFailure(
      'The server cannot get at this repository: it has no commit, or no remote that is the only one or called origin.',
      'name its address: runyard init --repo URL',
    )
  const found = findSetup(top)
  const config = await buildConfig(options.name ?? nameOf(own, top), options, asConfig(own, found))
  if (dryRun) return output.json(config)
  show(session, config, found)
  const taken = await findByName(session, config.name)
  if (taken)
    throw usageFailure(
      `There is an environment ${oneLine(config.name)} already.`,
      'change it by `runyard env update`, or make another one: runyard init --name NAME',
    )
  if (!yes && !(await mayMake(session, config.name))) return output.note('Nothing was made.')
  const environment = await create(session, config, options)
  const is_remembered = await rememberEnvironment(top, environment.config.name)
  if (output.format === 'text')
    output.line(oneLine(output.terminal ? environment.config.name : environment.uid))
  else output.json(environment)
  for (const each of own?.missing ?? []) output.note(output.colors.yellow(`! ${oneLine(each)}`))
  output.note(
    is_remembered
      ? 'Created. Runs that you start in this folder use it: runyard run "…"'
      : 'Created. This folder cannot remember it, since git config failed: runyard run "…" --env NAME',
  )
}

/** The repository's name, or the folder's. */
function nameOf(own: OwnRepository | null, top: string): string {
  const { url, local_path } = own?.repository ?? {}
  return basename((url === undefined ? local_path : nameRepository(url)) ?? top)
}

/** Its runs begin where the repository is then, not at the branch that somebody was on today. */
function asConfig(
  own: OwnRepository | null,
  { setup_commands, docker_image }: FoundSetup,
): Partial<EnvironmentRequest> {
  const { ref: _, ...repository } = own?.repository ?? {}
  return {
    ...(own ? { repositories: [repository] } : {}),
    ...(setup_commands.length > 0 ? { setup_commands } : {}),
    ...(docker_image ? { docker_image } : {}),
  }
}

/** Shows the environment that will be made, and the file that each part comes from. */
function show({ output }: Session, config: EnvironmentRequest, { found }: FoundSetup): void {
  const { bold, dim } = output.colors
  const { repositories = [], setup_commands = [], docker_image } = config
  const line = (name: string, value: string, said = value) => {
    const file = found.find(({ says }) => says === said)?.file
    output.note(`${name} ${oneLine(value)}${file ? ` ${dim(`(${oneLine(file)})`)}` : ''}`)
  }
  output.note(`Environment ${bold(oneLine(config.name))}`)
  for (const { url, local_path, ref } of repositories)
    line('repository:', `${url ?? local_path}, at ${ref ?? 'its default branch'}`)
  for (const command of setup_commands) line('setup:', command)
  if (docker_image) line('image:', docker_image, `image ${docker_image}`)
  if (setup_commands.length === 0)
    output.note(dim('No file says what has to be installed: its runs begin with the repository alone.'))
}

async function findByName({ client }: Session, name: string): Promise<Environment | null> {
  return client.environments.retrieve(name).catch((error: unknown) => {
    if (error instanceof APIError && error.status === 404) return null
    throw error
  })
}

/** Who is not asked has to say --yes: what is made is for the whole team. */
async function mayMake({ output }: Session, name: string): Promise<boolean> {
  if (!output.interactive) throw usageFailure('Without a terminal, --yes is needed.', 'runyard init --yes')
  const answer = await askChoice('Make this environment?', [
    { value: 'yes', label: `Make ${oneLine(name)}` },
    { value: 'no', label: 'Make nothing' },
  ])
  if (answer === null) throw new CommandFailure('Nothing was made.', { exit_code: EXIT.interrupted })
  return answer === 'yes'
}

/** An image that was found and that this server does not allow is left out, and said. */
async function create(
  { client, output }: Session,
  config: EnvironmentRequest,
  { image, file, name }: ConfigOptions,
): Promise<Environment> {
  try {
    return await client.environments.create(config)
  } catch (error) {
    if (!(error instanceof APIError)) throw error
    const { docker_image, ...others } = config
    const is_found = docker_image !== undefined && image === undefined && file === undefined
    if (is_found && error.code === 'feature_not_available') {
      output.note(output.colors.yellow(`! ${oneLine(error.message)} Its runs use the server's own image.`))
      return client.environments.create(others)
    }
    if (error.status !== 400 || name !== undefined || !/^(?:--)?name\b/.test(error.message)) throw error
    throw usageFailure(`An environment cannot be called ${oneLine(config.name)}.`, 'runyard init --name NAME')
  }
}

import { basename } from 'node:path'
import {
  APIError,
  type Environment,
  type EnvironmentRepository,
  type EnvironmentRequest,
} from '@runyard/client'
import type { Command } from 'commander'
import { askChoice } from '../ask.ts'
import { describeRepository, findOwn, findTop, rememberEnvironment } from '../checkout-repository.ts'
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
        'Looks at the files of the git checkout here (lock files, Dockerfile, dev container, workflows), shows what runs would need, and makes an environment of it. Runs that are started in this folder use it from then on. Options say what it cannot see, or take the place of what it found. Nothing of the repository is run or changed.',
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
  if (own === null)
    throw usageFailure(
      'The server cannot get at this repository: it has no commit, or no remote on another machine.',
      'push it somewhere first, or start `runyard dev` in this folder',
    )
  const setup = findSetup(top)
  // Its runs begin where the repository is then, not at the branch that somebody was on today.
  const { ref: _, ...repository } = own.repository
  const config = await buildConfig(options.name, options, asConfig(repository, setup))
  if (dryRun) return output.json(config)
  if (output.format === 'text') show(session, config.name, repository, setup)
  const taken = await findByName(session, config.name)
  if (taken)
    throw usageFailure(
      `There is an environment ${oneLine(config.name)} already.`,
      'change it by `runyard env update`, or make another one: runyard init --name NAME',
    )
  if (!yes && !(await mayMake(session, config.name))) return output.note('Nothing was made.')
  const environment = await create(session, config)
  await rememberEnvironment(top, environment.config.name)
  if (output.format !== 'text') return output.json(environment)
  output.line(oneLine(output.terminal ? environment.config.name : environment.uid))
  for (const each of own.missing) output.note(output.colors.yellow(`! ${oneLine(each)}`))
  output.note('Created. Runs that you start in this folder use it: runyard run "…"')
}

function asConfig(
  repository: EnvironmentRepository,
  { setup_commands, docker_image }: FoundSetup,
): EnvironmentRequest {
  const place = repository.url === undefined ? repository.local_path : nameRepository(repository.url)
  return {
    ...{ name: basename(place ?? ''), repositories: [repository] },
    ...(setup_commands.length > 0 ? { setup_commands } : {}),
    ...(docker_image ? { docker_image } : {}),
  }
}

function show(
  { output }: Session,
  name: string,
  repository: EnvironmentRepository,
  { found }: FoundSetup,
): void {
  const { bold, dim } = output.colors
  output.note(`Environment ${bold(oneLine(name))}, with ${oneLine(describeRepository(repository))}`)
  for (const { file, says } of found) output.note(`${dim(`${oneLine(file)}:`)} ${oneLine(says)}`)
  if (found.length === 0)
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
  if (!output.interactive) throw usageFailure('Nobody can be asked here.', 'runyard init --yes makes it')
  const answer = await askChoice('Make this environment?', [
    { value: 'yes', label: `Make ${oneLine(name)}` },
    { value: 'no', label: 'Make nothing' },
  ])
  if (answer === null) throw new CommandFailure('Nothing was made.', { exit_code: EXIT.interrupted })
  return answer === 'yes'
}

/** An image that this server does not allow is left out, and said. */
async function create({ client, output }: Session, config: EnvironmentRequest): Promise<Environment> {
  try {
    return await client.environments.create(config)
  } catch (error) {
    const { docker_image, ...others } = config
    if (!(error instanceof APIError) || error.status !== 400 || !docker_image) throw error
    if (!error.message.includes(docker_image)) throw error
    output.note(output.colors.yellow(`! ${oneLine(error.message)} Its runs use the server's own image.`))
    return client.environments.create(others)
  }
}

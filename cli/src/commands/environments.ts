import type { EnvironmentRequest, MergeMethod, PermissionRule } from '@runyard/client'
import { type Command, Option } from 'commander'
import { usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { PERMISSION_HELP, pair, permission, repeated } from '../option-values.ts'
import { readJsonObject } from '../read-input.ts'
import { REPO_FLAGS, readRepository } from '../repository-option.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

export interface ConfigOptions extends ClientOptions {
  file?: string
  name?: string
  description?: string
  image?: string
  repo?: string[]
  setup?: string[]
  variable?: Record<string, string>
  secret?: string[]
  permission?: PermissionRule[]
  onSuccess?: 'nothing' | 'branch' | 'pull_request'
  mergeMethod?: MergeMethod | false
  pushBranch?: string[]
  egress?: 'none' | 'allowlist' | 'open'
  allowHost?: string[]
  registries?: boolean
  models?: boolean
}

interface UpdateOptions extends ConfigOptions {
  removeVariable?: string[]
}

export function addEnvironmentCommands(program: Command): void {
  const group = program
    .command('env')
    .summary('make, list, change and delete environments')
    .description('Environments: image, repositories and setup of runs.')
  addConfigOptions(
    group
      .command('create [name]')
      .description('Creates an environment from options, or from a JSON file that holds its config.'),
  ).action(async (name: string | undefined, options: ConfigOptions) => {
    const { client, output } = openSession(options)
    const environment = await client.environments.create(await buildConfig(name, options))
    if (output.format !== 'text') return output.json(environment)
    output.line(oneLine(output.terminal ? environment.config.name : environment.uid))
    const { uid, config } = environment
    // What a shell would take apart is named by its id.
    output.note(`Created. Use it: runyard run … --env ${/^[\w.-]+$/.test(config.name) ? config.name : uid}`)
  })

  addConfigOptions(
    group
      .command('update <environment>')
      .description(
        'Changes what the options say of an environment, by name or id, and keeps the rest. A JSON file replaces its whole config; a variable with the value *** keeps the one it has.',
      )
      .option('-n, --name <name>', 'another name')
      .option('--remove-variable <key>', 'environment variable to remove; repeat for more', repeated),
  ).action(async (reference: string, options: UpdateOptions) => {
    const { client, output } = openSession(options)
    const { uid, config } = await client.environments.retrieve(reference)
    const environment = await client.environments.update(uid, await changeConfig(config, options))
    if (output.format !== 'text') return output.json(environment)
    output.line(oneLine(output.terminal ? environment.config.name : environment.uid))
    output.note('Updated. Runs in progress keep the old settings.')
  })

  addClientOptions(
    group
      .command('delete <environment>')
      .alias('rm')
      .description('Deletes an environment, by name or id. Runs that wait for it fail.'),
  ).action(async (reference: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const environment = await client.environments.delete(reference)
    if (output.format !== 'text') return output.json(environment)
    output.line(oneLine(output.terminal ? environment.config.name : environment.uid))
    output.note(`Deleted ${oneLine(environment.config.name)}.`)
  })

  addClientOptions(group.command('list').alias('ls').description('Lists environments.')).action(
    async (options: ClientOptions) => {
      const { client, output } = openSession(options)
      const environments = await Array.fromAsync(client.environments.list())
      if (output.format === 'json') return output.json({ environments })
      if (output.format === 'ndjson') return environments.forEach(output.json)
      if (environments.length === 0) return output.note('No environments. Make one: runyard env create NAME')
      const columns = [
        // On a terminal the name alone: no command asks for the id.
        ...(output.terminal ? [] : [{ heading: 'ENVIRONMENT' }]),
        { heading: 'NAME' },
        { heading: 'USES', flexible: true },
        { heading: 'LAST RUN', spare: true },
        { heading: 'UPDATED', spare: true },
      ]
      const rows = environments.map(({ uid, config, last_task_created: run, last_updated }) => {
        const repositories = (config.repositories ?? []).map(({ url, local_path }) => url ?? local_path)
        const from_github = (config.github_repos ?? []).map(({ owner, repo }) => `${owner}/${repo}`)
        const uses = [config.docker_image, ...repositories, ...from_github].filter(Boolean).join(' ')
        const last = run ? `${run.state} ${formatAge(run.created_at)}` : ''
        return [...(output.terminal ? [] : [uid]), config.name, uses, last, formatAge(last_updated)]
      })
      output.line(formatTable(columns, rows, output.columns()))
    },
  )

  addClientOptions(
    group.command('get <environment>').description('Shows one environment, by name or id, as JSON.'),
  ).action(async (reference: string, options: ClientOptions) => {
    const { client, output } = openSession({
      ...options,
      output: options.output === 'text' ? 'json' : options.output,
    })
    output.json(await client.environments.retrieve(reference))
  })
}

/** Options for the fields of a config. */
export const addConfigOptions = (command: Command): Command =>
  addClientOptions(
    command
      .option('-f, --file <file>', 'JSON file with the config, - for standard input')
      .option('--description <text>', 'what it is for')
      .option('--image <image>', 'container image')
      .option(
        `-r, ${REPO_FLAGS}`,
        'repository: its address, owner/repo of GitHub, or a path (./… is from here); repeat for more',
        repeated,
      )
      .option(
        '--setup <command>',
        'setup command, run in the folder of the repository if there is one, else in /workspace; repeat for more',
        repeated,
      )
      .option('--variable <key=value>', 'environment variable; repeat for more', pair)
      .option('--secret <name>', 'secret that its runs use; repeat for more', repeated)
      .addOption(
        new Option('--on-success <what>', 'what becomes of the changes of a run that succeeds').choices([
          'nothing',
          'branch',
          'pull_request',
        ]),
      )
      .addOption(
        new Option(
          '--merge-method <how>',
          'let pull requests of its runs be merged by `runyard merge`',
        ).choices(['merge', 'squash', 'rebase']),
      )
      .option('--no-merge-method', 'have them merged at their host alone (the default)')
      .option('--push-branch <name>', 'branch that runs may push, or name*; repeat for more', repeated)
      .addOption(
        new Option('--egress <network>', 'what the network lets out').choices(['none', 'allowlist', 'open']),
      )
      .option('--allow-host <host>', 'host that is allowed, or *.host; repeat for more', repeated)
      .option('--registries', 'allow the usual package registries (the default)')
      .option('--no-registries', 'do not allow the usual package registries')
      .option('--permission <rule>', PERMISSION_HELP, permission)
      .option('--models', 'let commands call models by the gateway')
      .option('--no-models', 'let them call none (the default)'),
  )

/** `found`: what counts where neither a file nor an option says anything. */
export async function buildConfig(
  name: string | undefined,
  options: ConfigOptions,
  found: Partial<EnvironmentRequest> = {},
): Promise<EnvironmentRequest> {
  const given = { ...found, ...(await readConfig(options)) }
  const full_name = name ?? given.name
  if (!full_name) throw usageFailure('A name is needed.', 'runyard env create NAME, or -f FILE')
  return { ...given, name: full_name, ...fieldsOf(options, given) }
}

async function changeConfig(before: EnvironmentRequest, options: UpdateOptions): Promise<EnvironmentRequest> {
  const given = options.file ? { name: before.name, ...(await readConfig(options)) } : before
  const changes = { ...fieldsOf(options, given), ...(options.name ? { name: options.name } : {}) }
  const removed = options.removeVariable ?? []
  if (!options.file && Object.keys(changes).length + removed.length === 0)
    throw usageFailure('Nothing is to be changed.', 'runyard env update NAME --image …, or -f FILE')
  const { variables = {}, ...config } = { ...given, ...changes }
  const missing = removed.find((key) => !Object.hasOwn(variables, key))
  if (missing !== undefined) throw usageFailure(`There is no variable ${oneLine(missing)} to remove.`)
  const kept = Object.entries(variables).filter(([key]) => !removed.includes(key))
  return { ...config, ...(kept.length > 0 ? { variables: Object.fromEntries(kept) } : {}) }
}

/** The service checks a file's fields and names what is wrong. */
const readConfig = async ({ file }: ConfigOptions): Promise<Partial<EnvironmentRequest>> =>
  file ? await readJsonObject(file) : {}

/** What the options say, beside what there is. */
function fieldsOf(
  options: ConfigOptions,
  { variables }: Partial<EnvironmentRequest>,
): Partial<EnvironmentRequest> {
  return {
    ...(options.description ? { description: options.description } : {}),
    ...(options.image ? { docker_image: options.image } : {}),
    ...(options.repo ? { repositories: options.repo.map(readRepository) } : {}),
    ...(options.setup ? { setup_commands: options.setup } : {}),
    ...(options.variable ? { variables: { ...variables, ...options.variable } } : {}),
    ...(options.secret ? { secrets: options.secret.map((name) => ({ name })) } : {}),
    ...(options.onSuccess ? { on_success: options.onSuccess } : {}),
    ...(options.mergeMethod === undefined ? {} : { merge_method: options.mergeMethod || undefined }),
    ...(options.pushBranch ? { push_branches: options.pushBranch } : {}),
    ...(options.egress ? { egress: options.egress } : {}),
    ...(options.allowHost ? { allowed_hosts: options.allowHost } : {}),
    ...(options.registries === undefined ? {} : { package_registries: options.registries }),
    ...(options.permission ? { permissions: options.permission } : {}),
    ...(options.models === undefined ? {} : { models: options.models }),
  }
}

import type { EnvironmentConfig, EnvironmentRepository } from '@runyard/client'
import { type Command, Option } from 'commander'
import { usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { pair, repeated } from '../option-values.ts'
import { readJsonObject } from '../read-input.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface CreateOptions extends ClientOptions {
  file?: string
  name?: string
  description?: string
  image?: string
  repo?: string[]
  setup?: string[]
  variable?: Record<string, string>
  egress?: 'none' | 'allowlist' | 'open'
  allowHost?: string[]
  registries: boolean
}

export function addEnvironmentCommands(program: Command): void {
  const group = program
    .command('env')
    .summary('make and list environments')
    .description('Environments: image, repositories and setup of runs.')
  addClientOptions(
    group
      .command('create [name]')
      .description('Creates an environment from options, or from a JSON file that holds its config.')
      .option('-f, --file <file>', 'JSON file with the config, - for standard input')
      .option('--description <text>', 'what it is for')
      .option('--image <image>', 'container image')
      .option('-r, --repo <url[#ref]>', 'https address or path of a repository; repeat for more', repeated)
      .option('--setup <command>', 'setup command; repeat for more', repeated)
      .option('--variable <key=value>', 'environment variable; repeat for more', pair)
      .addOption(
        new Option('--egress <network>', 'what the network lets out').choices(['none', 'allowlist', 'open']),
      )
      .option('--allow-host <host>', 'host that is allowed, or *.host; repeat for more', repeated)
      .option('--no-registries', 'do not allow the usual package registries'),
  ).action(async (name: string | undefined, options: CreateOptions) => {
    const { client, output } = openSession(options)
    const environment = await client.environments.create(await buildConfig(name, options))
    if (output.format !== 'text') return output.json(environment)
    output.line(oneLine(environment.uid))
    output.note(`Created. Use it: runyard run … --env ${environment.uid}`)
  })

  addClientOptions(group.command('list').alias('ls').description('Lists environments.')).action(
    async (options: ClientOptions) => {
      const { client, output } = openSession(options)
      const environments = await Array.fromAsync(client.environments.list())
      if (output.format === 'json') return output.json({ environments })
      if (output.format === 'ndjson') return environments.forEach(output.json)
      if (environments.length === 0) return output.note('No environments. Make one: runyard env create NAME')
      const columns = [
        { heading: 'ENVIRONMENT' },
        { heading: 'NAME' },
        { heading: 'USES', flexible: true },
        { heading: 'UPDATED' },
      ]
      const rows = environments.map(({ uid, config, last_updated }) => {
        const repositories = (config.repositories ?? []).map(({ url, local_path }) => url ?? local_path)
        const from_github = (config.github_repos ?? []).map(({ owner, repo }) => `${owner}/${repo}`)
        const uses = [config.docker_image, ...repositories, ...from_github].filter(Boolean).join(' ')
        return [uid, config.name, uses, formatAge(last_updated)]
      })
      output.line(formatTable(columns, rows, output.columns()))
    },
  )

  addClientOptions(group.command('get <id>').description('Shows one environment, as JSON.')).action(
    async (id: string, options: ClientOptions) => {
      const { client, output } = openSession({
        ...options,
        output: options.output === 'text' ? 'json' : options.output,
      })
      output.json(await client.environments.retrieve(id))
    },
  )
}

async function buildConfig(name: string | undefined, options: CreateOptions): Promise<EnvironmentConfig> {
  // The service checks a file's fields and names what is wrong.
  const given = (options.file ? await readJsonObject(options.file) : {}) as Partial<EnvironmentConfig>
  const full_name = name ?? given.name
  if (!full_name) throw usageFailure('A name is needed.', 'runyard env create NAME, or -f FILE')
  return {
    ...given,
    name: full_name,
    ...(options.description ? { description: options.description } : {}),
    ...(options.image ? { docker_image: options.image } : {}),
    ...(options.repo ? { repositories: options.repo.map(readRepository) } : {}),
    ...(options.setup ? { setup_commands: options.setup } : {}),
    ...(options.variable ? { variables: options.variable } : {}),
    ...(options.egress ? { egress: options.egress } : {}),
    ...(options.allowHost ? { allowed_hosts: options.allowHost } : {}),
    ...(options.registries ? {} : { package_registries: false }),
  }
}

/** `https://host/owner/name#ref`, or a path on the worker's machine. */
function readRepository(text: string): EnvironmentRepository {
  const [place = '', ref] = text.split('#', 2)
  const where = /^[a-z+]+:\/\//i.test(place) ? { url: place } : { local_path: place }
  return { ...where, ...(ref ? { ref } : {}) }
}

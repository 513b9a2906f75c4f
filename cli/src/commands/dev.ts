import { relative, resolve } from 'node:path'
import { Runyard, VERSION } from '@runyard/client'
import { type Command, Option } from 'commander'
import { readStoredKey, saveConnection } from '../connection.ts'
import { port } from '../option-values.ts'
import { type Output, openOutput } from '../output.ts'
import { loadService, runRole } from '../role.ts'
import { hang } from '../wrap.ts'

type DevService = Awaited<ReturnType<Awaited<ReturnType<typeof loadService>>['startDev']>>

interface DevOptions {
  port?: number
  host?: string
  dataDir?: string
  sandbox?: 'docker' | 'bubblewrap' | 'host'
  json?: boolean
}

export function addDevCommand(program: Command): void {
  program
    .command('dev')
    .summary('start everything on this machine')
    .description(
      'Starts server, worker and an embedded database in one process, for trying out and developing.',
    )
    .option('-p, --port <port>', 'port to listen on, 0 for any free one (RUNYARD_PORT; default 4200)', port)
    .option('--host <address>', 'address to listen on (RUNYARD_HOST; default 127.0.0.1)')
    .option('--data-dir <dir>', 'where everything is kept (RUNYARD_DATA_DIR; default .runyard)')
    .addOption(
      new Option('--sandbox <backend>', 'where commands run; default: the strongest there is').choices([
        'docker',
        'bubblewrap',
        'host',
      ]),
    )
    .option('--json', 'print one line of JSON when ready, and nothing else on standard output')
    .action(async (options: DevOptions) => {
      const { startDev, readConfig } = await loadService()
      const data_dir = options.dataDir === undefined ? readConfig().data_dir : resolve(options.dataDir)
      const known_key = readStoredKey(data_dir)
      const output = openOutput({ format: options.json ? 'ndjson' : 'text' })
      if (!options.json) output.note('Starting. The first start makes a database, which takes a few seconds.')
      await runRole(
        () =>
          startDev({
            data_dir,
            ...(options.port === undefined ? {} : { port: options.port }),
            ...(options.host === undefined ? {} : { host: options.host }),
            ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
            ...(known_key === undefined ? {} : { known_key }),
          }),
        async (service) => {
          const { base_url, api_key, web_url, sandbox, database } = service
          const file = saveConnection({ base_url, api_key }, data_dir, process.env)
          if (options.json) output.json({ base_url, api_key, web_url, sandbox, database })
          else output.write(await describeDev(service, { data_dir, file, output }))
        },
      )
    })
}

async function describeDev(
  service: DevService,
  { data_dir, file, output }: { data_dir: string; file: string; output: Output },
): Promise<string> {
  const { colors } = output
  const { bold, cyan, dim } = colors
  const shown = (path: string): string => {
    const near = relative(process.cwd(), path)
    return near.startsWith('..') ? path : near
  }
  const client = new Runyard({ baseURL: service.base_url, apiKey: service.api_key })
  const { models, default_model_id } = await client.models.list()
  const fields: Array<[string, string]> = [
    ['API', cyan(service.base_url)],
    ['Page', cyan(service.web_url)],
    ['Key', `in ${shown(file)}, where runyard commands find it`],
    ['Sandbox', service.sandbox_description],
    [
      'Database',
      `embedded (PGlite) in ${shown(data_dir)}; a power cut may lose the last writes: PGlite does not fsync`,
    ],
    [
      'Models',
      models.length > 0
        ? `${models.length}${default_model_id ? `, ${default_model_id} unless a run names another` : ''}`
        : 'none: prompts run as runbooks, the shell blocks in them step by step. ANTHROPIC_API_KEY or OPENAI_API_KEY brings models.',
    ],
  ]
  // Started by npm, the command is not on the PATH of the other terminal.
  const command = process.env.npm_execpath ? 'npx runyard' : 'runyard'
  const prompt = 'Say hello:\\n```sh\\necho Hello from the sandbox\\n```'
  return `
${bold(`Runyard ${VERSION}`)} is running. ${dim('Ctrl-C stops it.')}

${fields.map(([name, value]) => `  ${dim(name.padEnd(9))} ${hang(value, 12, output.columns())}`).join('\n')}

A first run, from another terminal:

  ${command} run $'${prompt}'

or with curl:

  curl ${service.base_url}/agent/runs \\
    -H "Authorization: Bearer $(grep -o 'ry_[A-Za-z0-9]*' ${shown(file)})" \\
    -H 'Content-Type: application/json' \\
    -d '{"prompt": "${prompt}"}'

`
}

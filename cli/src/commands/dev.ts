import { homedir } from 'node:os'
import { basename, relative } from 'node:path'
import { VERSION } from '@runyard/client'
import { type Command, Option } from 'commander'
import { forgetConnection, readStoredKey, type Saved, saveConnection } from '../connection.ts'
import { currentProcess } from '../current-process.ts'
import { port } from '../option-values.ts'
import { type Output, openOutput } from '../output.ts'
import { loadRole, runRole, settingsOf } from '../role.ts'
import { TLS_CERT, TLS_KEY, tlsOf } from '../tls-options.ts'
import { hang } from '../wrap.ts'

type DevService = Awaited<ReturnType<Awaited<ReturnType<typeof loadRole>>['startDev']>>

interface DevOptions {
  port?: number
  host?: string
  dataDir?: string
  sandbox?: 'docker' | 'bubblewrap' | 'kubernetes' | 'host'
  tlsCert?: string
  tlsKey?: string
  json?: boolean
  userConfig: boolean
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
        'kubernetes',
        'host',
      ]),
    )
    .option(...TLS_CERT)
    .option(...TLS_KEY)
    .option('--no-user-config', 'leave ~/.config/runyard alone: only commands in this folder find the server')
    .option('--json', 'print one line of JSON when ready, and nothing else on standard output')
    .action(async (options: DevOptions) => {
      const tls = tlsOf(options)
      const { startDev, readConfig, isServed } = await loadRole()
      const settings = settingsOf(options)
      const { env: environment } = settings
      const { data_dir = readConfig(environment, settings.directory).data_dir } = settings
      const known_key = readStoredKey(data_dir)
      const output = openOutput({ format: options.json ? 'ndjson' : 'text' })
      if (!options.json) output.note('Starting. The first start takes a few seconds.')
      await runRole(
        async () => {
          const service = await startDev({
            ...settings,
            data_dir,
            ...(options.port === undefined ? {} : { port: options.port }),
            ...(options.host === undefined ? {} : { host: options.host }),
            ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
            ...(tls === undefined ? {} : { tls }),
            ...(known_key === undefined ? {} : { known_key }),
          })
          const stop = (): Promise<void> => {
            forgetConnection(data_dir, environment)
            return service.stop()
          }
          return { ...service, stop }
        },
        async (service) => {
          const { base_url, api_key, web_url, sign_in_url, sandbox, database } = service
          const saved = await saveConnection(
            { base_url, api_key },
            { data_dir, environment, for_user: options.userConfig, isServed },
          )
          if (options.json) output.json({ base_url, api_key, web_url, sign_in_url, sandbox, database })
          else
            output.write(
              await describeDev(service, {
                data_dir,
                saved,
                output,
                ...(tls ? { tls_cert: tls.cert_file } : {}),
              }),
            )
        },
      )
    })
}

async function describeDev(
  service: DevService,
  {
    data_dir,
    saved,
    output,
    tls_cert,
  }: { data_dir: string; saved: Saved; output: Output; tls_cert?: string },
): Promise<string> {
  const { colors } = output
  const { bold, cyan, dim } = colors
  const { models = [], default_model_id } = (await service.listModels()) ?? {}
  // Started by npm, the command is not on the PATH of the other terminal.
  const command = currentProcess().env.npm_execpath ? 'npx runyard' : 'runyard'
  const fields: Array<[string, string]> = [
    ['API', cyan(service.base_url)],
    ['Page', cyan(service.web_url)],
    ['Sign in', `${cyan(service.sign_in_url)} works once, within a minute; another: ${command} open`],
    ['Key', describeKey(saved, data_dir)],
    ['Sandbox', service.sandbox_description],
    [
      'Database',
      `embedded (PGlite) in ${shown(data_dir)}; a power cut may lose the last writes: PGlite does not fsync`,
    ],
    ['Models', describeModels(service, models.length, default_model_id)],
  ]
  const prompt = 'Say hello:\\n```sh\\necho Hello from the sandbox\\n```'
  return `
${bold(`Runyard ${VERSION}`)} is running. ${dim('Ctrl-C stops it.')}

${fields.map(([name, value]) => `  ${dim(name.padEnd(9))} ${hang(value, 12, output.columns())}`).join('\n')}

A first run, from another terminal:

  ${command} run $'${prompt}'

or with curl:

  curl ${tls_cert === undefined ? '' : `--cacert ${shown(tls_cert)} `}${service.base_url}/agent/runs \\
    -H "Authorization: Bearer $(grep -o 'ry_[A-Za-z0-9]*' ${shown(saved.file)})" \\
    -H 'Content-Type: application/json' \\
    -d '{"prompt": "${prompt}"}'

`
}

/** Where the key is, who finds it there, and what was left as it is. */
function describeKey({ file, user_file, fate }: Saved, data_dir: string): string {
  if (fate === 'written') return `in ${shown(file)} and ${shown(user_file)}, where runyard commands find it`
  const finders =
    basename(data_dir) === '.runyard'
      ? 'where runyard commands find it in this folder and below'
      : 'for RUNYARD_API_KEY, with the address above as RUNYARD_BASE_URL'
  const reasons = {
    unwanted: '',
    foreign: `. ${shown(user_file)} is not of runyard dev and was left alone`,
    'not to be had': `. ${shown(user_file)} cannot be written`,
    'of another dev': `. ${shown(user_file)} is of another runyard dev that runs, and was left alone`,
  }
  return `in ${shown(file)}, ${finders}${reasons[fate]}`
}

/** A path as a person would write it here. */
function shown(path: string): string {
  const near = relative(currentProcess().cwd(), path)
  const from_home = relative(homedir(), path)
  if (!near.startsWith('..')) return near
  return from_home.startsWith('..') ? path : `~/${from_home}`
}

function describeModels(
  { has_models }: Pick<DevService, 'has_models'>,
  count: number,
  default_model_id: string | undefined,
): string {
  if (!has_models)
    return 'none: prompts run as runbooks, the shell blocks in them step by step. ANTHROPIC_API_KEY or OPENAI_API_KEY brings models.'
  if (default_model_id) {
    const others = count > 1 ? `; ${count} to choose from: runyard model list` : ''
    return `${default_model_id} unless a run names another${others}`
  }
  return count > 0
    ? `${count}, none of them the default: runyard model list`
    : 'the provider that is set up lists none now; runs wait for it. What is wrong: runyard doctor'
}

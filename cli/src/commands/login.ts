import { hostname } from 'node:os'
import { APIError, type ApiKey, Runyard } from '@runyard/client'
import { type Command, Option } from 'commander'
import { askHidden } from '../ask.ts'
import { type Connection, findProfile, isOnThisMachine, sameAddress, traceConnection } from '../connection.ts'
import { currentProcess } from '../current-process.ts'
import { beginDeviceLogin } from '../device-login.ts'
import { CommandFailure, explain, usageFailure } from '../failure.ts'
import { openBrowser } from '../open-browser.ts'
import { FORMATS, type Format, type Output, openOutput } from '../output.ts'
import { describeOwner, findOwnKey } from '../own-key.ts'
import {
  chooseProfile,
  isProfileName,
  type KeyPlace,
  type Profile,
  readProfiles,
  removeProfile,
  saveProfile,
} from '../profiles.ts'
import { readText } from '../read-input.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

interface LoginOptions {
  output: Format
  profile?: string
  withKey?: boolean
  browser: boolean
  keyring: boolean
}

const addFormat = (command: Command): Command =>
  command.addOption(new Option('-o, --output <format>', 'how to print').choices(FORMATS).default('text'))

export function addLoginCommands(program: Command): void {
  addFormat(
    program
      .command('login <url>')
      .summary('log in to a server, by its page')
      .description(
        'Asks a server for a key: its page, in a browser on any machine, asks whoever is signed in there. Every command uses that server from then on, wherever nothing else says which.',
      )
      .option('--profile <name>', 'what to call the login; default: the name of the server')
      .option('--with-key', 'log in with a key, which is asked for or read from standard input')
      .option('--no-browser', 'only show the address, do not open it')
      .option(
        '--no-keyring',
        'keep the key in a file that only you can read, not in the keyring of the system',
      ),
  ).action(login)

  addFormat(
    program
      .command('logout [name]')
      .summary('revoke the key of a login, and forget it')
      .description(
        'Ends the login in use, or the one named: a key that the page gave is revoked at its server. A key that you gave yourself is only forgotten here.',
      )
      .option('--forget', 'only forget it here; its key goes on working'),
  ).action(logout)

  addClientOptions(
    program
      .command('whoami')
      .summary('show as whom commands ask')
      .description(
        'Shows whose key commands use, and for which server. `runyard status` says where they are from.',
      ),
  ).action(async (options: ClientOptions) => {
    const { client, connection, output } = openSession(options)
    const own = await findOwnKey(client, connection.api_key.value)
    const base_url = connection.base_url.value
    if (output.format !== 'text')
      return output.json({ base_url, principal: own.principal, role: own.role, key_name: own.name })
    output.line(`${describeOwner(own)}, on ${base_url}`)
  })

  const group = program
    .command('profile')
    .summary('choose between logins')
    .description('Logins to several servers, or to one as several people.')
  addFormat(
    group.command('list').alias('ls').description('Lists logins; a star marks the one in use.'),
  ).action(({ output: format }: { output: Format }) => {
    const output = openOutput({ format })
    const { current, profiles } = readProfiles(currentProcess().env)
    const shown = profiles.map(({ name, base_url }) => ({ name, base_url, in_use: name === current }))
    if (format === 'json') return output.json({ profiles: shown })
    if (format === 'ndjson') return shown.forEach(output.json)
    if (shown.length === 0) return output.note('No logins. Make one: runyard login URL')
    const columns = [{ heading: '' }, { heading: 'NAME' }, { heading: 'SERVER', flexible: true }]
    const rows = shown.map(({ name, base_url, in_use }) => [in_use ? '*' : '', name, base_url])
    output.line(formatTable(columns, rows, output.columns()))
  })
  addFormat(group.command('use <name>').description('Uses this login from now on.')).action(
    (name: string, { output: format }: { output: Format }) => {
      const { env } = currentProcess()
      const profile = findProfile(readProfiles(env).profiles, name)
      const { base_url } = profile
      chooseProfile(env, name)
      const output = openOutput({ format })
      if (format !== 'text') return output.json({ name, base_url, in_use: true })
      output.note(`Commands use ${base_url} now.`)
      tellNearer(output, profile)
    },
  )
}

async function login(
  given: string,
  { output: format, profile, withKey, browser, keyring }: LoginOptions,
): Promise<void> {
  const { env } = currentProcess()
  const output = openOutput({ format })
  const address = readAddress(given)
  const name = profile ?? new URL(address).host
  if (!isProfileName(name))
    throw usageFailure('A login is called by letters, digits and . _ : -', 'give another --profile NAME')
  if (new URL(address).protocol === 'http:' && !isOnThisMachine(address))
    output.note(`The connection to ${address} is not encrypted: others on the way can read the key.`)
  const before = readProfiles(env).profiles.find((one) => one.name === name)
  const base_url = `${address}/api/v1`
  if (before && !sameAddress(before.base_url, base_url))
    throw usageFailure(
      `The login ${name} is to ${before.base_url}.`,
      `give another --profile NAME, or end that one first: runyard logout ${name}`,
    )
  const api_key = withKey ? await readKey(output) : await loginByPage(address, output, browser)
  const client = new Runyard({ apiKey: api_key, baseURL: base_url })
  // A key that was typed may be wrong, and is looked at before it is stored.
  const typed = withKey ? await findOwnKey(client, api_key) : null
  // Read before it is replaced: the keyring forgets it then.
  const earlier = before?.made_here ? { base_url, api_key: readKeyOf(before) } : null
  const place = await save(client, { name, base_url, api_key, made_here: !withKey }, { keyring })
  // Nobody else has it.
  if (earlier && !(await isEnded(earlier)))
    output.note(
      'The key of the earlier login could not be revoked, and still works: runyard keys revoke ends it.',
    )
  const own = typed ?? (await findOwnKey(client, api_key))
  if (format !== 'text')
    output.json({ name, base_url, principal: own.principal, role: own.role, key_in: place })
  else {
    output.note(`Logged in to ${address} as ${describeOwner(own)}. The login is called ${name}.`)
    if (place === 'keyring') output.note("Its key is in the system's keyring.")
  }
  tellNearer(output, { base_url, api_key })
}

async function loginByPage(address: string, output: Output, may_open: boolean): Promise<string> {
  const { user_code, url, wait } = await beginDeviceLogin(address, clientName())
  const is_own = requireWebAddress(url).origin === new URL(address).origin
  output.note(`Open ${url}`)
  if (!is_own) output.note(`That is another server than ${address}: go there only if you know why.`)
  output.note(`and allow the login if the page shows this code: ${user_code}`)
  if (may_open && is_own && output.interactive) await openBrowser(url, output)
  output.note('Waiting for the page…')
  return wait()
}

/** Throws for anything that a browser would not take for a page: a program, or a file. */
function requireWebAddress(text: string): URL {
  const url = URL.parse(text)
  if (url && ['http:', 'https:'].includes(url.protocol)) return url
  throw new CommandFailure('The server names no page to log in at.', {
    hint: 'give its key by `runyard login URL --with-key`',
  })
}

/** The machine's name, as the page and the list of keys show it. */
const clientName = (): string =>
  hostname()
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .slice(0, 100) || 'a terminal'

async function readKey(output: Output): Promise<string> {
  const key = (output.interactive ? await askHidden('The key') : await readText('-'))?.trim()
  if (!key) throw usageFailure('No key was given.', 'runyard login URL --with-key < FILE')
  return key
}

/** The address of the server, without its path of the API. */
function readAddress(given: string): string {
  const text = given.trim()
  const has_scheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text)
  const local = isOnThisMachine(`http://${text}`)
  const url = URL.parse(has_scheme ? text : `${local ? 'http' : 'https'}://${text}`)
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password)
    throw usageFailure(`"${given}" is not the address of a server.`, 'such as https://runyard.example.com')
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

/** Stores a login. Where it cannot, it revokes a key that the page gave: nobody else knows of it. */
async function save(
  client: Runyard,
  profile: Omit<Profile, 'file'>,
  { keyring }: { keyring: boolean },
): Promise<KeyPlace> {
  try {
    return saveProfile(currentProcess().env, profile, { keyring })
  } catch (error) {
    if (profile.made_here)
      await findOwnKey(client, profile.api_key)
        .then(({ key_id }) => client.apiKeys.revoke(key_id))
        .catch(() => {})
    const reason = error instanceof Error ? error.message : String(error)
    throw error instanceof CommandFailure
      ? error
      : new CommandFailure(`The login cannot be stored: ${reason}.`, { cause: error })
  }
}

const isEnded = (connection: Connection): Promise<boolean> =>
  revoke(connection).then(
    () => true,
    (error) => error instanceof APIError && error.status === 401 && connection.api_key !== '',
  )

/** Empty where the keyring does not give it: no server takes that. */
function readKeyOf(profile: Profile): string {
  try {
    return profile.api_key
  } catch {
    return ''
  }
}

/** Throws where the server cannot be reached, or does not do it. */
async function revoke({ base_url, api_key }: Connection): Promise<ApiKey> {
  const client = new Runyard({ apiKey: api_key, baseURL: base_url, maxRetries: 0 })
  const { key_id } = await findOwnKey(client, api_key)
  return client.apiKeys.revoke(key_id)
}

async function logout(
  given: string | undefined,
  { output: format, forget = false }: { output: Format; forget?: boolean },
): Promise<void> {
  const { env } = currentProcess()
  const output = openOutput({ format })
  const { current, profiles } = readProfiles(env)
  const name = given ?? env.RUNYARD_PROFILE ?? current
  if (name === undefined)
    throw usageFailure(
      'There is no login in use.',
      'runyard profile list shows all, and runyard logout NAME ends one',
    )
  const profile = findProfile(profiles, name)
  const is_revoked = profile.made_here && !forget && (await endKey(profile))
  const is_forgotten = removeProfile(env, name)
  if (format !== 'text') return output.json({ name, base_url: profile.base_url, revoked: is_revoked })
  output.note(`Logged out of ${profile.base_url}.`)
  if (!is_revoked) output.note('Its key still works: runyard keys revoke ends it.')
  if (!is_forgotten) output.note("The system's keyring cannot be reached, and still holds the key.")
}

/** Revokes the key; true also where it did not work any more. Throws where it may still work: then it must not be forgotten. */
async function endKey(profile: Profile): Promise<true> {
  try {
    await revoke(profile)
  } catch (error) {
    if (error instanceof APIError && error.status === 401) return true
    const { message, exit_code } = explain(error)
    throw new CommandFailure(`The key of the login ${profile.name} could not be revoked: ${message}`, {
      hint: `the login is still there; \`runyard logout ${profile.name} --forget\` only forgets it here`,
      exit_code,
      cause: error,
    })
  }
  return true
}

/** Tells the person when commands in this folder still use another server. */
function tellNearer(output: Output, { base_url, api_key }: Connection): void {
  const own = currentProcess()
  try {
    const used = traceConnection({ flags: {}, environment: own.env, directory: own.cwd() })
    if (!sameAddress(used.base_url.value, base_url))
      output.note(`In this folder commands use ${used.base_url.value}, by ${used.base_url.from}.`)
    else if (used.api_key.value !== api_key)
      output.note(`In this folder commands use another key, by ${used.api_key.from}.`)
  } catch (error) {
    // What was asked for is done.
    output.note(`Other commands cannot use it here: ${error instanceof Error ? error.message : error}`)
  }
}

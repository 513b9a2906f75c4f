import type { Command } from 'commander'
import { describeOwner, findOwnKey, maskKey } from '../own-key.ts'
import { formatFields } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'

export function addStatusCommand(program: Command): void {
  addClientOptions(
    program
      .command('status')
      .summary('show which server commands use, and as whom')
      .description(
        'Shows the server, the key and its owner, and where each setting comes from: a flag, a variable or a file.',
      ),
  ).action(async (options: ClientOptions) => {
    const session = openSession(options)
    const { connection, output } = session
    const { base_url, api_key, shadowed } = connection
    const masked = maskKey(api_key.value)
    const settings = {
      ...{ base_url: base_url.value, base_url_from: base_url.from },
      ...{ api_key: masked, api_key_from: api_key.from },
      ...(shadowed ? { unused_file: shadowed } : {}),
    }
    const settingFields = [
      ['server', `${base_url.value} (from ${base_url.from})`],
      ['key', `${masked} (from ${api_key.from})`],
      ['not used', shadowed && `${shadowed}: the file above is nearer`],
    ] as const
    // First, since they are what explains a server that does not answer.
    if (output.format === 'text') output.line(formatFields(settingFields, output))
    const own = await findOwnKey(session.client, api_key.value)
    const { principal, name, role } = own
    if (output.format !== 'text') return output.json({ ...settings, principal, role, key_name: name })
    output.line(formatFields([['you', describeOwner(own)]], output, settingFields))
  })
}

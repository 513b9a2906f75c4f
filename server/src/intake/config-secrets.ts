/** Values of tool servers that no answer shows: taken out of a config where it is stored, and put back where it is used again. */
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { AppError } from '../contract/error.ts'
import { MASK } from '../sealing/sealing.ts'

type Unmasked = { [K in keyof AmbientAgentConfig]: AmbientAgentConfig[K] | undefined }

/** As the worker looks for them (`worker/tool-servers.ts`). */
const placeOf = (...place: string[]): string => JSON.stringify(place)

/** Takes the values of tool servers' `env` and `headers` out of the config; they are returned as `***` for ever after. */
export function maskConfig(config: Unmasked): {
  config: AmbientAgentConfig
  secrets: Record<string, string>
} {
  const secrets: Record<string, string> = {}
  const given = Object.fromEntries(
    Object.entries(config).filter(([, value]) => value !== undefined),
  ) as AmbientAgentConfig
  if (!given.mcp_servers) return { config: given, secrets }
  const mcp_servers = Object.fromEntries(
    Object.entries(given.mcp_servers).map(([name, server]) => {
      const hide = (part: 'env' | 'headers') =>
        Object.fromEntries(
          Object.entries(server[part] ?? {}).map(([key, value]) => {
            secrets[placeOf(name, part, key)] = value
            return [key, MASK]
          }),
        )
      return [
        name,
        {
          ...server,
          ...(server.env ? { env: hide('env') } : {}),
          ...(server.headers ? { headers: hide('headers') } : {}),
          ...(server.url ? { url: hideCredentials(server.url, placeOf(name, 'url'), secrets) } : {}),
        },
      ]
    }),
  )
  return { config: { ...given, mcp_servers }, secrets }
}

function hideCredentials(url: string, place: string, secrets: Record<string, string>): string {
  const parsed = new URL(url)
  for (const part of ['username', 'password', 'search', 'hash'] as const)
    if (parsed[part]) parsed[part] = MASK
  if (parsed.href !== url) secrets[place] = url
  return parsed.href
}

/** A config as it is stored, and the values that it shows as `***`. */
export interface MaskedConfig {
  config: AmbientAgentConfig
  secrets: Readonly<Record<string, string>>
}

/**
 * The config with values for what it shows as `***`: those of `kept`, as long as they go where they went. Throws, naming the field
 * below `path`, where there is none: what was read can be changed and written, though it was read without them. Whoever may
 * write may not be who gave the values, so they follow no server to another address and no command that is another one.
 */
export function revealConfig(
  config: AmbientAgentConfig,
  kept: MaskedConfig,
  path: string,
): AmbientAgentConfig {
  const find = (place: readonly string[]): string => {
    const value = kept.secrets[placeOf(...place)]
    if (value !== undefined) return value
    const field = [path, 'mcp_servers', ...place].join('.')
    throw new AppError('invalid_request', `${field}: "${MASK}" keeps the value it has, and it has none yet.`)
  }
  const revealAll = (
    name: string,
    part: 'env' | 'headers',
    values: Record<string, string>,
    stays: boolean,
  ): Record<string, string> =>
    Object.fromEntries(
      Object.entries(values).map(([key, value]) => {
        if (value !== MASK) return [key, value]
        const found = find([name, part, key])
        if (stays) return [key, found]
        const changed = part === 'headers' ? 'the address' : 'the command'
        throw new AppError(
          'invalid_request',
          `${[path, 'mcp_servers', name, part, key].join('.')}: ${changed} of this tool server was changed, so "${MASK}" cannot stand for what it had. Give it in full.`,
        )
      }),
    )
  if (!config.mcp_servers) return config
  const mcp_servers = Object.fromEntries(
    Object.entries(config.mcp_servers).map(([name, { env, headers, url, ...server }]) => {
      const before = kept.config.mcp_servers?.[name]
      const same_command =
        before?.command === server.command &&
        JSON.stringify(before?.args ?? []) === JSON.stringify(server.args ?? [])
      const same_url = before?.url !== undefined && url !== undefined && placeAt(before.url) === placeAt(url)
      return [
        name,
        {
          ...server,
          ...(env ? { env: revealAll(name, 'env', env, same_command) } : {}),
          ...(headers ? { headers: revealAll(name, 'headers', headers, same_url) } : {}),
          ...(url ? { url: isMasked(url) ? unmask(url, find([name, 'url'])) : url } : {}),
        },
      ]
    }),
  )
  return { ...config, mcp_servers }

  function unmask(url: string, kept_url: string): string {
    if (hideCredentials(kept_url, '', {}) === new URL(url).href) return kept_url
    throw new AppError(
      'invalid_request',
      `${path}.mcp_servers: the address of a tool server was changed, so "${MASK}" in it cannot stand for what it had. Give it in full.`,
    )
  }
}

/** The first tool server with a value that is shown as `***`, by its name; `null`: there is none. */
export function findMasked({ mcp_servers = {} }: AmbientAgentConfig): string | null {
  const found = Object.entries(mcp_servers).find(
    ([, { env, headers, url }]) =>
      [...Object.values(env ?? {}), ...Object.values(headers ?? {})].includes(MASK) ||
      (url !== undefined && isMasked(url)),
  )
  return found?.[0] ?? null
}

/** Who is asked for what: a query or a user's name may be another one. */
function placeAt(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function isMasked(url: string): boolean {
  const { username, password, search, hash } = new URL(url)
  return [username, password, search.slice(1), hash.slice(1)].includes(MASK)
}

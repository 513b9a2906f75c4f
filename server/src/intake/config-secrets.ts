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

/**
 * The config with values for what it shows as `***`. Throws, naming the field below `path`, where there is none: what was read
 * can be changed and written, though it was read without them.
 */
export function revealConfig(
  config: AmbientAgentConfig,
  secrets: Readonly<Record<string, string>>,
  path: string,
): AmbientAgentConfig {
  const find = (place: readonly string[]): string => {
    const value = secrets[placeOf(...place)]
    if (value !== undefined) return value
    const field = [path, 'mcp_servers', ...place].join('.')
    throw new AppError('invalid_request', `${field}: "${MASK}" keeps the value it has, and it has none yet.`)
  }
  const revealAll = (name: string, part: 'env' | 'headers', values: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, value === MASK ? find([name, part, key]) : value]),
    )
  if (!config.mcp_servers) return config
  const mcp_servers = Object.fromEntries(
    Object.entries(config.mcp_servers).map(([name, { env, headers, url, ...server }]) => [
      name,
      {
        ...server,
        ...(env ? { env: revealAll(name, 'env', env) } : {}),
        ...(headers ? { headers: revealAll(name, 'headers', headers) } : {}),
        ...(url ? { url: isMasked(url) ? unmask(url, find([name, 'url'])) : url } : {}),
      },
    ]),
  )
  return { ...config, mcp_servers }

  function unmask(url: string, kept: string): string {
    if (hideCredentials(kept, '', {}) === new URL(url).href) return kept
    throw new AppError(
      'invalid_request',
      `${path}.mcp_servers: the address of a tool server was changed, so "${MASK}" in it cannot stand for what it had. Give it in full.`,
    )
  }
}

function isMasked(url: string): boolean {
  const { username, password, search, hash } = new URL(url)
  return [username, password, search.slice(1), hash.slice(1)].includes(MASK)
}

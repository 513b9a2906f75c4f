import type { MCPServerConfig } from '../contract/agent-config.ts'
import { decodePercent } from '../contract/percent.ts'
import type { ToolServer } from '../harness/harness.ts'
import type { RunRow } from '../store/runs.ts'

const TIMEOUT_SECONDS = 120

/** A tool server as a run names it, its values in clear; the way to one with an address is the execution's. */
export type PlannedServer = Omit<ToolServer, 'launch'> & {
  launch:
    | Exclude<ToolServer['launch'], { type: 'url' }>
    | { type: 'url'; url: string; headers: Record<string, string> }
}

/** `sealed`: the values that were taken out of the config. `secrets`: what nobody is to read in the log. */
export function planToolServers(
  run: Pick<RunRow, 'config'>,
  sealed: Record<string, string>,
  values: Readonly<Record<string, string>>,
): { servers: PlannedServer[]; secrets: string[] } {
  const secrets: string[] = []
  const servers = Object.entries(run.config.mcp_servers ?? {}).map(([name, config]) => {
    const { required = false, timeout_seconds = TIMEOUT_SECONDS } = config
    const clear = revealServer(name, config, sealed)
    const missing = new Set<string>()
    const fill = (text: string) =>
      text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_whole, variable: string) => {
        const value = Object.hasOwn(values, variable) ? values[variable] : undefined
        if (value === undefined) missing.add(variable)
        return value ?? ''
      })
    const fillAll = (record: Record<string, string> = {}) =>
      Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fill(value)]))
    const { command, args = [], url } = clear
    const [env, headers] = [fillAll(clear.env), fillAll(clear.headers)]
    const filled = args.map(fill)
    // `Bearer …`: what is said of it later may be its second half alone.
    secrets.push(
      ...Object.values(env),
      ...Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]),
    )
    if (url) secrets.push(...secretsOf(url))
    const launch = ((): PlannedServer['launch'] => {
      if (missing.size > 0)
        return {
          type: 'refused',
          why: `it names what the environment does not have: ${[...missing].join(', ')}`,
        }
      if (url !== undefined) return { type: 'url', url, headers }
      return { type: 'command', command: command ?? '', args: filled, env }
    })()
    return { name, required, timeout_ms: timeout_seconds * 1000, launch }
  })
  return { servers, secrets: secrets.filter((value) => value !== '') }
}

/** Values were taken out when the run was created (`intake/new-run.ts`). */
function revealServer(
  name: string,
  config: MCPServerConfig,
  sealed: Record<string, string>,
): MCPServerConfig {
  const reveal = (part: 'env' | 'headers') =>
    Object.fromEntries(
      Object.entries(config[part] ?? {}).map(([key, value]) => [
        key,
        sealed[JSON.stringify([name, part, key])] ?? value,
      ]),
    )
  const url = sealed[JSON.stringify([name, 'url'])] ?? config.url
  return { ...config, env: reveal('env'), headers: reveal('headers'), ...(url ? { url } : {}) }
}

function secretsOf(text: string): string[] {
  const { username, password, searchParams, hash } = new URL(text)
  const decoded = [username, password].map(decodePercent)
  return [username, password, ...decoded, ...searchParams.values(), hash.slice(1)]
}

/** What differs between Node, Deno, Bun, Workers and browsers. Nothing here needs the types of one of them. */

interface Globals {
  process?: { env?: Record<string, string | undefined>; versions?: { node?: string } }
  Deno?: { version?: { deno?: string } }
  Bun?: { version?: string }
  navigator?: { userAgent?: string }
  document?: unknown
}

const globals: Globals = globalThis

/** Undefined where there is no environment, as in browsers. */
export function readEnvironment(name: string): string | undefined {
  try {
    return globals.process?.env?.[name]
  } catch {
    // Deno without permission to read the environment.
    return undefined
  }
}

/** Pages that anybody can read the source of; workers and tests with a DOM of their own are not meant. */
export const isBrowser = (): boolean =>
  globals.document !== undefined && globals.navigator !== undefined && !globals.process?.versions?.node

/** Such as `node/24.1.0`. */
export function describeRuntime(): string {
  if (globals.Deno) return `deno/${globals.Deno.version?.deno ?? ''}`
  if (globals.Bun) return `bun/${globals.Bun.version ?? ''}`
  if (globals.navigator?.userAgent === 'Cloudflare-Workers') return 'workerd'
  if (isBrowser()) return 'browser'
  const node = globals.process?.versions?.node
  return node ? `node/${node}` : 'unknown'
}

import type { Setup } from '../behaviour.ts'

interface Undici {
  fetch: typeof globalThis.fetch
  ProxyAgent: new (url: string) => object
}

interface Deno {
  createHttpClient(options: { proxy: { url: string } }): object
}

/** The options that lead a client through a proxy, which each runtime has its own way for. */
export async function loadProxy(runtime: 'node' | 'deno' | 'bun'): Promise<NonNullable<Setup['proxy']>> {
  if (runtime === 'bun') return (url) => ({ fetchOptions: { proxy: url } })
  if (runtime === 'deno') {
    const deno: Deno = Reflect.get(globalThis, 'Deno')
    return (url) => ({ fetchOptions: { client: deno.createHttpClient({ proxy: { url } }) } })
  }
  // Not in one step: the compiler would look for the types of a package that only the test's project has.
  const name = 'undici'
  const { fetch, ProxyAgent }: Undici = await import(name)
  return (url) => ({ fetch, fetchOptions: { dispatcher: new ProxyAgent(url) } })
}

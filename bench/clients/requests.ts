/** `requests.ts MODULE URL COUNT`: prints requests per second and by how many MB the memory grew at most while doing them. */

import type * as Ours from '@runyard/client'
import type * as Oz from 'oz-agent-sdk'

const AT_ONCE = 16
const [module = '', url = '', count = ''] = process.argv.slice(2)
const get = await load()

let peak = 0
await repeat(500)
const before = process.memoryUsage.rss()
peak = before
const started = performance.now()
await repeat(Number(count))
const per_second = Number(count) / ((performance.now() - started) / 1000)
console.log(JSON.stringify({ per_second, growth: (peak - before) / 2 ** 20 }))
process.exit()

async function load(): Promise<() => Promise<unknown>> {
  if (module === 'oz-agent-sdk') {
    const { default: OzAPI }: typeof Oz = await import(module)
    const client = new OzAPI({ apiKey: 'ry_bench', baseURL: url })
    return () => client.agent.runs.retrieve('r1')
  }
  const { Runyard }: typeof Ours = await import(module)
  const client = new Runyard({ apiKey: 'ry_bench', baseURL: url })
  return () => client.runs.retrieve('r1')
}

async function repeat(times: number): Promise<void> {
  let left = times
  const work = async () => {
    while (left-- > 0) {
      await get()
      if (left % 100 === 0) peak = Math.max(peak, process.memoryUsage.rss())
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

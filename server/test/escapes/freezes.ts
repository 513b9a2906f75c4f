import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { shell } from '../support/service.ts'
import type { Context } from './context.ts'
import { broken, held, NO_DOOR, ONCE, type Probe, SANDBOXED, type Verdict } from './probe.ts'
import { longestStall, ONE_BY_ONE } from './stall.ts'

/** Long enough to see that nobody answers. */
const BOMB_MS = 60_000

/** Prompts that cost a careless parser far more than their length. */
const BOMBS: Array<[name: string, text: string]> = [
  ['list', `${'- '.repeat(8_000)}x`],
  ['quote', `${'> '.repeat(8_000)}x`],
  ['list-and-step', `${'- '.repeat(8_000)}x\n${shell('true')}`],
  ['emphasis', '*a_ '.repeat(20_000)],
  ['brackets', '['.repeat(50_000)],
  ['backticks', Array.from({ length: 500 }, (_, index) => '`'.repeat(index)).join(' ')],
  ['links', '[a](<b'.repeat(15_000)],
  ['html', '<!-- <a '.repeat(10_000)],
  ['mebibyte-list', `${'- '.repeat(500_000)}x`],
  ['mebibyte-quote', `${'>'.repeat(1_000_000)} x`],
  ['mebibyte-fences', '```\n'.repeat(250_000)],
]
/** What the attacker's commands print. */
const OUTPUTS: Array<[name: string, tries: string, command: string]> = [
  ['one-byte-writes', 'prints 420,000 bytes one by one', ONE_BY_ONE],
  ['line-without-end', 'prints 64 MB without a newline', `perl -e 'print "x" x (1 << 20) for 1 .. 64'`],
  [
    'escape-sequences',
    'prints half a megabyte of unfinished escape sequences',
    `perl -e 'print "\\e[" x 250_000'`,
  ],
  [
    'carriage-returns',
    'prints a million carriage returns and backspaces',
    `perl -e 'print "a\\b\\r" x 350_000'`,
  ],
  [
    'two-streams',
    'prints to both streams in turns',
    `perl -e 'for (1 .. 150_000) { syswrite STDOUT, "o"; syswrite STDERR, "e" }'`,
  ],
]

async function runBomb(context: Context, body: { prompt: string }): Promise<Verdict> {
  const service = await context.service()
  const stall = longestStall(service.origin)
  const attack = async () => {
    const run_id = await service.attacker.create(body)
    const path = `/agent/runs/${run_id}`
    await service.attacker
      .ended(run_id, BOMB_MS / 2_000)
      .catch(() => service.attacker.call('POST', `${path}/cancel`))
    for (const below of ['/conversation', '/events?limit=1000'])
      await (await service.attacker.call('GET', path + below)).text()
  }
  await Promise.race([attack().catch(() => {}), delay(BOMB_MS)])
  const verdict = await stall.judge()
  // It may stand still for hours; the next probe gets another.
  if (verdict.broken) await context.dropService()
  return verdict
}

/** What a member sends or runs to make the service stand still. */
export const FREEZES: Probe[] = [
  ...BOMBS.map(
    ([name, text]): Probe => ({
      id: `service.prompt-${name}`,
      tries: `stops the service with a prompt of ${text.length} characters (${name})`,
      ...(['list', 'emphasis'].includes(name) ? { short: true } : {}),
      on: ONCE,
      shut: NO_DOOR,
      run: (context) => runBomb(context, { prompt: text }),
    }),
  ),
  ...OUTPUTS.map(
    ([name, tries, command]): Probe => ({
      id: `service.output-${name}`,
      tries: `stops the service by a command that ${tries}`,
      on: SANDBOXED,
      shut: NO_DOOR,
      run: (context) => runBomb(context, { prompt: shell(command) }),
    }),
  ),
  {
    id: 'service.huge-variables',
    tries: 'takes the service down by an environment with 8 MB of variables',
    on: SANDBOXED,
    shut: NO_DOOR,
    async run(context) {
      const { attacker, origin } = await context.service()
      const variables = Object.fromEntries(
        Array.from({ length: 128 }, (_, index) => [`V${index}`, 'x'.repeat(65_000)]),
      )
      const made = await attacker.call('POST', '/agent/environments', { name: randomUUID(), variables })
      if (made.ok) {
        const { uid } = (await made.json()) as { uid: string }
        const run_id = await attacker.create({ prompt: shell('true'), config: { environment_id: uid } })
        const run = await attacker.ended(run_id)
        if (run.state === 'SUCCEEDED') return broken('it ran, with more than a kernel takes')
      }
      const health = await fetch(`${origin}/healthz`)
      return health.ok ? held(`${made.status}, and the service lives`) : broken('the service is gone')
    },
  },
]

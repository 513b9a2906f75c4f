import { randomUUID } from 'node:crypto'
import { shell, spawnRunyard } from '../support/service.ts'
import type { Context } from './context.ts'
import { broken, held, type Probe, type Verdict } from './probe.ts'

/** Writes the clipboard of whoever sees it, in the spellings that terminals take. */
const SEQUENCES = (word: string): string[] => [
  `\u001b]52;c;${word}\u0007`,
  `\u009d52;c;${word}\u009c`,
  `\u001bP+q${word}\u001b\\`,
  `\u001b[2J${word}`,
  `\u009b2J${word}`,
  `\r${word}\u0008\u0008`,
  `\u202e${word}`,
]
/** What must not come through: escape, C1 controls, backspace, bell, deletion. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HARMFUL = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f]|\u001b(?!\[[0-9;]*m)/

/** Where a member can put text that others see in their terminals. */
const PLACES: Array<[name: string, body: (text: string) => { body: object; command?: string }]> = [
  ['title', (text) => ({ body: { title: text } })],
  ['name', (text) => ({ body: { config: { name: text } } })],
  ['model', (text) => ({ body: { config: { harness: { type: 'oz', model_id: text } } } })],
  ['model-id', (text) => ({ body: { config: { harness: { type: 'oz' }, model_id: text } } })],
  ['skill', (text) => ({ body: { skill: text } })],
  ['metadata', (text) => ({ body: { metadata: { key: text } } })],
  ['prompt', (text) => ({ body: { prompt: `Say ${text}` } })],
  [
    'output',
    (text) => ({
      body: {},
      command: `printf '${[...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}'; exit 3`,
    }),
  ],
  [
    'artifact',
    (text) => ({
      body: {},
      command: `mkdir artifacts; touch "artifacts/$(printf '${[...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}x')"`,
    }),
  ],
  ['environment', (text) => ({ body: { environment: text } })],
]

/** What the commands print for each run: on a terminal, and into a pipe. */
async function view(context: Context, run_ids: string[]): Promise<Map<string, string>> {
  const service = await context.service()
  const env = {
    RUNYARD_BASE_URL: service.base_url,
    RUNYARD_API_KEY: service.keys.admin,
    TERM: 'xterm-256color',
  }
  const printed = new Map<string, string>()
  const commands = [
    ['list', '--help'],
    ['list'],
    ['env', 'list'],
    ...run_ids.flatMap((id) => [
      ['get', id],
      ['follow', id],
      ['artifacts', 'list', id],
    ]),
  ]
  for (const words of commands.slice(1)) {
    const child = spawnRunyard(words, env)
    let text = ''
    child.stdout?.on('data', (data) => {
      text += data
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await new Promise((resolve) => child.once('close', resolve))
    clearTimeout(timer)
    printed.set(words.join(' '), text + child.log())
  }
  return printed
}

export const TERMINAL: Probe[] = PLACES.map(
  ([name, make]): Probe => ({
    id: `terminal.${name}`,
    tries: `writes the clipboard or the screen of an admin who looks at runs: by the ${name} of a run`,
    // cli/test/hostile.test.ts has every field of everything that a command shows.
    ...(name === 'title' ? { short: true } : {}),
    shut: 'it is the command line that cleans',
    on: ['bubblewrap-root'],
    async run(context): Promise<Verdict> {
      const { owner } = await context.service()
      const text = SEQUENCES(context.canary.slice(0, 14)).join('')
      const { body, command } = make(text)
      const { environment, config, ...rest } = body as { environment?: string; config?: object }
      let more: object = {}
      if (environment !== undefined) {
        const answer = await owner.call('POST', '/agent/environments', {
          // What a terminal acts on is refused in a name.
          name: randomUUID(),
          description: environment,
        })
        if (!answer.ok) return held(`refused with ${answer.status}`)
        more = { environment_id: ((await answer.json()) as { uid: string }).uid }
      }
      const answer = await owner.call('POST', '/agent/runs', {
        prompt: shell(command ?? 'true'),
        ...rest,
        config: { harness: { type: 'runbook' }, ...more, ...config },
      })
      if (!answer.ok) return held(`refused with ${answer.status}`)
      const { run_id } = (await answer.json()) as { run_id: string }
      // No provider answers the loop, which would ask for minutes.
      if (name.startsWith('model')) await owner.json('POST', `/agent/runs/${run_id}/cancel`)
      await owner.ended(run_id)
      const printed = await view(context, [run_id])
      if (![...printed.values()].some((shown) => shown.includes(run_id.slice(0, 8))))
        throw new Error(`could not run: ${[...printed]}`)
      for (const [words, shown] of printed) {
        const found = HARMFUL.exec(shown)
        if (found)
          return broken(
            `runyard ${words} printed ${JSON.stringify(shown.slice(found.index, found.index + 20))}`,
          )
      }
      return held(`${printed.size} commands print none`)
    },
  }),
)

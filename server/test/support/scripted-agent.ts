import { readFileSync } from 'node:fs'

const SOURCE = readFileSync(new URL('./acp-agent.mjs', import.meta.url), 'utf8')

/** The command of the scripted agent; `offers`: of `load`, `resume` and `steer`, what it can do. */
export const scriptedAgent = (offers = ''): string[] => [
  'node',
  '--input-type=module',
  '-e',
  SOURCE,
  `offers:${offers}`,
]

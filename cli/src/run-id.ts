import type { RunItem, Runyard } from '@runyard/client'
import type { Command } from 'commander'
import { CommandFailure, usageFailure } from './failure.ts'
import { oneLine } from './one-line.ts'
import { type ClientOptions, openSession } from './session.ts'

/** The name of every argument and option that is one. */
export const RUN_ID = 'run-id'
/** Stands for the newest run that who asks has started. */
export const LAST = '@last'
/** Runs among which it is looked for. */
const LOOKED_AT = 1_000

const WHOLE = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const ANY = '00000000-0000-0000-0000-000000000000'
const SHOWN_CANDIDATES = 5

/** Lets every command take shortened ids of runs, and `@last`: its action gets the whole ones. */
export function resolveRunIds(program: Command): void {
  program.hook('preAction', async (_program, command) => {
    const options = command.opts<ClientOptions>()
    const find = (given: string): string | Promise<string> =>
      WHOLE.test(given) ? given : findRunId(openSession(options).client, given)
    for (const [at, argument] of command.registeredArguments.entries()) {
      if (argument.name() !== RUN_ID) continue
      const given = command.processedArgs[at] as string | string[] | undefined
      if (given !== undefined)
        command.processedArgs[at] = Array.isArray(given)
          ? await Promise.all(given.map(find))
          : await find(given)
    }
    for (const option of command.options) {
      const given: unknown = command.getOptionValue(option.attributeName())
      if (option.flags.includes(`<${RUN_ID}>`) && typeof given === 'string')
        command.setOptionValue(option.attributeName(), await find(given))
    }
  })
}

async function findLast({ runs }: Runyard): Promise<string> {
  let seen = 0
  for await (const run of runs.list({ creator: 'me', sort_by: 'created_at', limit: 50 })) {
    if (isOwnDoing(run)) return run.run_id
    seen += 1
    if (seen === LOOKED_AT) break
  }
  if (seen === 0)
    throw new CommandFailure('You have no runs yet.', { hint: 'start one: runyard run "what to do"' })
  throw new CommandFailure(`Schedules, triggers and agents started your newest ${seen} runs.`, {
    hint: 'give an id of `runyard list`, or its beginning',
  })
}

/** `runyard cancel @last` must not hit what a schedule of theirs has just begun. */
const isOwnDoing = ({ source, schedule, trigger }: RunItem): boolean =>
  source !== 'ORCHESTRATION' && !schedule && !trigger

async function findRunId(client: Runyard, given: string): Promise<string> {
  if (given === LAST) return findLast(client)
  const { runs } = client
  if (!isBeginning(given))
    throw usageFailure(
      given === '' ? 'An empty text is not the id of a run.' : `"${given}" is not the id of a run.`,
      `give an id of \`runyard list\`, its beginning, or ${LAST} for your newest run`,
    )
  const order = { sort_by: 'created_at', limit: SHOWN_CANDIDATES } as const
  const query = { run_id_prefix: given, archived: 'all', ...order } as const
  const { runs: found, page_info } = await runs.list(query)
  const [only] = found
  if (!only)
    throw new CommandFailure(`There is no run whose id begins with ${given}.`, {
      hint: '`runyard list` shows the runs that there are',
    })
  if (found.length === 1 && !page_info.has_next_page) return only.run_id
  const listed = found.map(({ run_id }) => oneLine(run_id)).join(', ')
  throw usageFailure(
    `Several runs have ids that begin with ${given}: ${listed}${page_info.has_next_page ? ' and more' : ''}.`,
    'give more of the id',
  )
}

/** Whether a run may have an id that begins with this text. */
export const isBeginning = (text: string): boolean => text !== '' && WHOLE.test(text + ANY.slice(text.length))

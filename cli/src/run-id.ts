import type { RunItem, Runyard } from '@runyard/client'
import type { Argument, Command } from 'commander'
import { CommandFailure, usageFailure } from './failure.ts'
import { oneLine } from './one-line.ts'
import { type ClientOptions, openSession } from './session.ts'
import { isBeginning, isEnding, RUN_ID, WHOLE_ID } from './short-id.ts'

/** Stands for the newest run that who asks has started. */
export const LAST = '@last'
/** Runs among which it is looked for. */
const LOOKED_AT = 1_000

const SHOWN_CANDIDATES = 5

/**
 * Lets every command take shortened ids and names: its action gets whole ids. Where a person can be asked, a command that was told of
 * no run, or of nothing else that has an id, shows those that there are.
 */
export function resolveReferences(program: Command, can_ask: boolean): void {
  const asked = can_ask ? spareArguments(program) : new Set<Argument>()
  program.hook('preAction', async (_program, command) => {
    const options = command.opts<ClientOptions>()
    for (const [at, argument] of command.registeredArguments.entries())
      command.processedArgs[at] = asked.has(argument)
        ? await findOrPick(argument, command.processedArgs[at], options)
        : await find(argument.name(), command.processedArgs[at], options)
    for (const option of command.options) {
      const given: unknown = command.getOptionValue(option.attributeName())
      const [, name = ''] = /<([a-z-]+)>/.exec(option.flags) ?? []
      if (IDS.has(name) && typeof given === 'string')
        command.setOptionValue(option.attributeName(), await find(name, given, options))
    }
  })
}

/** The whole ids of what was given; a value that names nothing with an id stays as it is. */
async function find(name: string, given: unknown, options: ClientOptions): Promise<unknown> {
  if (!IDS.has(name)) return given
  if (Array.isArray(given)) return Promise.all(given.map((each) => find(name, each, options)))
  if (typeof given !== 'string' || WHOLE_ID.test(given)) return given
  const { client } = openSession(options)
  if (name === RUN_ID) return findRunId(client, given)
  const { findReference } = await import('./reference.ts')
  return findReference(name, client, given)
}

async function findOrPick(argument: Argument, given: unknown, options: ClientOptions): Promise<unknown> {
  const name = argument.name()
  if (given !== undefined && !(Array.isArray(given) && given.length === 0)) return find(name, given, options)
  const { pick } = await import('./pick.ts')
  const picked = await pick(name, openSession(options).client)
  return argument.variadic ? [picked] : picked
}

/** Has commands start without the ids that they need, and says which arguments these are. Only a first argument: others follow it. */
function spareArguments(program: Command): Set<Argument> {
  const spared = new Set<Argument>()
  for (const command of allCommands(program)) {
    const [first, ...more] = command.registeredArguments
    const is_picked = first?.required && (IDS.has(first.name()) || first.name() === 'environment')
    if (!first || !is_picked || more.some(({ required }) => required)) continue
    first.required = false
    spared.add(first)
  }
  return spared
}

function* allCommands(command: Command): Generator<Command> {
  yield command
  for (const each of command.commands) yield* allCommands(each)
}

/** What arguments and values of options are called that are ids. An environment is not: the service takes its name. */
const IDS = new Set([RUN_ID, 'schedule', 'trigger', 'webhook', 'identity', 'principal'])

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
    hint: 'give an id of `runyard list`',
  })
}

/** `runyard cancel @last` must not hit what a schedule of theirs has just begun. */
const isOwnDoing = ({ source, schedule, trigger }: RunItem): boolean =>
  source !== 'ORCHESTRATION' && !schedule && !trigger

async function findRunId(client: Runyard, given: string): Promise<string> {
  if (given === LAST) return findLast(client)
  if (!isBeginning(given) && !isEnding(given))
    throw usageFailure(
      given === '' ? 'An empty text is not the id of a run.' : `"${given}" is not the id of a run.`,
      `give an id of \`runyard list\`, six letters or more of its end, or ${LAST} for your newest run`,
    )
  const { found, has_more } = await findCandidates(client, given)
  const [only] = found
  if (!only)
    throw new CommandFailure(`There is no run whose id begins or ends with ${given}.`, {
      hint:
        given.length < 6
          ? 'six letters or more of the end of an id are needed; `runyard list` shows the runs that there are'
          : '`runyard list` shows the runs that there are',
    })
  if (found.length === 1 && !has_more) return only.run_id
  const listed = found.map(({ run_id, title }) => oneLine(`${run_id} (${title.slice(0, 40)})`)).join(', ')
  throw usageFailure(
    `Several runs have ids that begin or end with ${given}: ${listed}${has_more ? ' and more' : ''}.`,
    'give more of the id',
  )
}

/** A text may be the end of one id and the beginning of another: then it names neither. */
async function findCandidates(
  { runs }: Runyard,
  given: string,
): Promise<{ found: RunItem[]; has_more: boolean }> {
  const shared = { archived: 'all', sort_by: 'created_at', limit: SHOWN_CANDIDATES } as const
  const pages = await Promise.all([
    ...(isEnding(given) ? [runs.list({ ...shared, run_id_suffix: given })] : []),
    ...(isBeginning(given) ? [runs.list({ ...shared, run_id_prefix: given })] : []),
  ])
  const all = new Map(pages.flatMap((page) => page.runs).map((run) => [run.run_id, run]))
  return {
    found: [...all.values()],
    has_more: pages.some(({ page_info }) => page_info.has_next_page),
  }
}

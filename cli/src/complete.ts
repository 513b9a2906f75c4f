import type { Runyard } from '@runyard/client'
import type { Command, Option } from 'commander'
import { oneLine } from './one-line.ts'
import { LAST } from './run-id.ts'
import { type ClientOptions, openSession } from './session.ts'
import { isBeginning, RUN_ID, shortId } from './short-id.ts'

/** What may stand next, and what it is. */
export type Candidate = readonly [value: string, description: string]

/** How long somebody who pressed Tab waits for the service. */
const ANSWER_MS = 2_000
const MOST_RUNS = 30
const SHORT_LENGTH = 8
/** A candidate is a line for the shell: no service may give one that is two, or that is cut at a tab. */
const SEVERAL_LINES = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** What the last of these words may become; none where it may be anything, such as a file. */
export async function complete(program: Command, typed: readonly string[]): Promise<Candidate[]> {
  const words = joinValues(typed)
  const word = words.pop() ?? ''
  const { command, given, option } = readWords(program, words)
  const [, flag, part] = /^(--[\w-]+)=(.*)$/.exec(word) ?? []
  const named = flag === undefined ? undefined : findOption(command, flag)
  // Bash takes what follows the sign as a word of its own.
  const start = named && typed.at(-1) === word ? `${flag}=` : ''
  const beginning = part ?? word
  const found = named
    ? await valuesOf(command, named.flags, named.argChoices, beginning)
    : option
      ? await valuesOf(command, option.flags, option.argChoices, word)
      : word.startsWith('-')
        ? optionsOf(command)
        : // One that begins with a dash would be an option: of somebody else's choice, such as where the key is sent.
          (await argumentsOf(command, given, word)).filter(([value]) => !value.startsWith('-'))
  return found
    .filter(([value]) => value.startsWith(beginning) && !SEVERAL_LINES.test(value))
    .map(([value, description]) => [start + value, oneLine(description)])
}

/** Bash parts words at `=`; `--output = js` is one of them. */
function joinValues(words: readonly string[]): string[] {
  const joined: string[] = []
  for (const [at, word] of words.entries()) {
    const continues = word === '=' || words[at - 1] === '='
    if (continues && joined.at(-1)?.startsWith('--')) joined.push(`${joined.pop()}${word}`)
    else joined.push(word)
  }
  return joined
}

/** The command that is being written, how many arguments it has so far, and the option that waits for its value. */
function readWords(program: Command, words: readonly string[]) {
  let command = program
  let given = 0
  let option: Option | undefined
  for (const word of words) {
    const takes_value = option !== undefined
    option = undefined
    if (takes_value) continue
    if (word.startsWith('-')) {
      const known = findOption(command, word)
      // A value that may be left out is left out.
      option = known?.required ? known : undefined
      continue
    }
    const next = given === 0 && visible(command).find((each) => namesOf(each).includes(word))
    if (next) command = next
    else given += 1
  }
  return { command, given, option }
}

async function argumentsOf(command: Command, given: number, word: string): Promise<Candidate[]> {
  if (command.commands.length > 0)
    return given > 0 ? [] : visible(command).map((each) => [each.name(), firstSentence(each)])
  const last = command.registeredArguments.at(-1)
  const argument = command.registeredArguments[given] ?? (last?.variadic ? last : undefined)
  return argument ? valuesOf(command, `<${argument.name()}>`, argument.argChoices, word) : []
}

const firstSentence = (command: Command): string =>
  command.summary() || (command.description().split(/[.,:] /)[0] ?? '')

const optionsOf = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [[long, description] as const] : []))

const findOption = (command: Command, flag: string): Option | undefined =>
  command.options.find(({ short, long }) => flag === short || flag === long)

const visible = (command: Command): readonly Command[] => command.createHelp().visibleCommands(command)
const namesOf = (command: Command): string[] => [command.name(), ...command.aliases()]

/** The values of an option or argument, which its name in brackets tells the kind of. */
async function valuesOf(
  command: Command,
  name: string,
  choices: readonly string[] | undefined,
  word: string,
): Promise<Candidate[]> {
  if (choices) return choices.map((choice) => [choice, ''])
  const look = name.includes(`<${RUN_ID}>`)
    ? listRuns
    : name.includes('<environment>')
      ? listEnvironments
      : null
  if (!look) return []
  const { client } = openSession({ ...command.opts<ClientOptions>(), output: 'text' })
  return look(client.withOptions({ timeout: ANSWER_MS, maxRetries: 0 }), word)
}

async function listRuns({ runs }: Runyard, word: string): Promise<Candidate[]> {
  const last: Candidate = [LAST, 'your newest run']
  if (word !== '' && !isBeginning(word)) return [last]
  // Beyond the length of a short id it can only be the beginning of a whole one.
  const is_short = word.length <= SHORT_LENGTH
  const prefix = is_short ? {} : { run_id_prefix: word }
  const page = await runs.list({ ...prefix, sort_by: 'created_at', limit: MOST_RUNS })
  const named = page.runs.map(({ run_id, state, title }) => {
    return [is_short ? shortId(run_id) : run_id, `${state} ${title}`] as const
  })
  return [last, ...named]
}

const listEnvironments = async ({ environments }: Runyard): Promise<Candidate[]> =>
  (await environments.list({ sort_by: 'name' })).environments.map(({ config }) => [
    config.name,
    config.description ?? '',
  ])

import type { RunAgentRequest, RunAgentResponse } from '@runyard/client'
import type { Command } from 'commander'
import type { Place } from '../checkout-repository.ts'
import { currentProcess } from '../current-process.ts'
import { usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { readMessage } from '../read-input.ts'
import { addRequestOptions, type RequestOptions, requestOf } from '../request-options.ts'
import { addClientOptions, type ClientOptions, openSession, type Session } from '../session.ts'
import { watchRun } from '../watch-run.ts'

interface RunOptions extends ClientOptions, RequestOptions {
  file?: string
  replay?: string
  wait?: boolean
  detach?: boolean
  full?: boolean
}

export function addRunCommand(program: Command): void {
  const command = addRequestOptions(
    program
      .command('run [prompt...]')
      .summary('start a run and watch it')
      .description(
        'Starts a run and shows it until it ends. The prompt is the words given, a file, or - for standard input.',
      )
      .option('-f, --file <file>', 'read the prompt from a file, - for standard input')
      .option('--replay <run-id>', 'do this run again, but for what other options say'),
  )
    .option('-w, --wait', 'watch the run to its end (the default)')
    .option('-d, --detach', 'print the id and leave')
    .option('--full', 'show all output of commands instead of its end')
  addClientOptions(command)
    .addHelpText(
      'after',
      "\nExample:\n  runyard run 'Run the tests and fix what fails' --env tests --metadata ticket=42",
    )
    .action(async (words: string[], options: RunOptions) => {
      if (options.wait && options.detach) throw usageFailure('Give --wait or --detach, not both.')
      const session = openSession(options)
      const request = await buildRequest(session, words, options)
      if (request === null) return
      await showCreated(session, await session.client.runs.create(request), options)
    })
}

type Created = Pick<RunAgentResponse, 'run_id'> & Partial<Pick<RunAgentResponse, 'at_capacity' | 'warnings'>>

/** Watches a run that was just created, or prints its id and leaves. */
export async function showCreated(
  session: Session,
  created: Created,
  options: { detach?: boolean | undefined; full?: boolean | undefined },
): Promise<void> {
  const { run_id, at_capacity } = created
  if (options.detach) return printCreated(session, created)
  const { output } = session
  if (output.format === 'text') {
    output.line(`${output.colors.bold('Run')} ${output.id(run_id)}`)
    output.line(`${output.colors.dim(await readLink(session, run_id))}\n`)
    if (created.warnings) warn(session, created)
    else if (at_capacity) output.note('No worker is free. The run starts as soon as one is.')
  }
  currentProcess().exitCode = await watchRun(session, run_id, { full: options.full, is_known: true })
}

/** The page of a run that is there; without it the run is watched all the same. */
async function readLink({ client }: Session, run_id: string): Promise<string> {
  try {
    return oneLine((await client.runs.retrieve(run_id)).session_link)
  } catch {
    return ''
  }
}

function warn({ output }: Session, { warnings = [] }: Created): void {
  for (const warning of warnings) output.note(output.colors.yellow(`! ${oneLine(warning)}`))
}

/** The id alone goes to standard output, so that scripts can take it as it is. */
function printCreated(session: Session, created: Created): void {
  const { output } = session
  if (output.format === 'text') {
    output.line(output.id(created.run_id))
    warn(session, created)
    output.note(`Started. Watch it: runyard follow ${output.id(created.run_id)}`)
  } else output.json(created)
}

/** Null: the person was asked what to do, and left. */
async function buildRequest(
  session: Session,
  words: readonly string[],
  options: RunOptions,
): Promise<RunAgentRequest | null> {
  const is_open = !options.skill && !options.replay
  const given = await readMessage(words, options.file)
  const prompt = given === undefined && is_open && session.output.interactive ? await askPrompt() : given
  if (prompt === null) return null
  if (!prompt?.trim() && is_open)
    throw usageFailure('A prompt is needed.', "runyard run 'what to do', -f FILE, or - for standard input")
  const request = await requestOf(options)
  const place = namesPlace(options) ? {} : await findPlace(session)
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(options.replay ? { replay_of_run_id: options.replay } : {}),
    ...request,
    ...(Object.keys(place).length > 0 ? { config: { ...request.config, ...place } } : {}),
  }
}

const askPrompt = async (): Promise<string | null> =>
  (await import('../ask.ts')).askText('What should the agent do?', 'Enter twice starts the run.')

const findPlace = async (session: Session): Promise<Place> =>
  (await import('../checkout-repository.ts')).choosePlace(session)

/** An earlier run brings its own, and an identity may. */
const namesPlace = ({ env, repo, replay, identity }: RunOptions): boolean =>
  env !== undefined || repo !== undefined || replay !== undefined || identity !== undefined

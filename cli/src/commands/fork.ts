import type { ForkRunParams } from '@runyard/client'
import type { Command } from 'commander'
import { usageFailure } from '../failure.ts'
import { wholeNumber } from '../option-values.ts'
import { readMessage } from '../read-input.ts'
import { addRequestOptions, type RequestOptions, requestOf } from '../request-options.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { showCreated } from './run.ts'

interface ForkOptions extends ClientOptions, RequestOptions {
  file?: string
  turn?: number
  sequence?: number
  detach?: boolean
  full?: boolean
}

export function addForkCommand(program: Command): void {
  const command = addRequestOptions(
    program
      .command('fork <run-id> [prompt...]')
      .summary('go on from a turn of a run, in a run of its own')
      .description(
        'Starts a run with the conversation and the workspace of another one, as they were at the end of a turn: the last one by default. That run stays as it is.',
      )
      .option('-f, --file <file>', 'read the prompt from a file, - for standard input'),
  )
    .option('--turn <n>', 'after so many messages, as in `runyard diff --turn`', wholeNumber(1, 1_000_000))
    .option('--sequence <n>', 'at the end of the turn before this event', wholeNumber(1, 2 ** 31 - 1))
    .option('-d, --detach', 'print the id and leave')
    .option('--full', 'show all output of commands instead of its end')
  addClientOptions(command)
    .addHelpText('after', "\nExample:\n  runyard fork RUN_ID --turn 2 'Try it with a cache instead.'")
    .action(async (run_id: string, words: string[], options: ForkOptions) => {
      const params = await buildRequest(words, options)
      const session = openSession(options)
      await showCreated(session, await session.client.runs.fork(run_id, params), options)
    })
}

async function buildRequest(words: readonly string[], options: ForkOptions): Promise<ForkRunParams> {
  const { turn, sequence } = options
  if (turn !== undefined && sequence !== undefined) throw usageFailure('Give --turn or --sequence, not both.')
  const prompt = await readMessage(words, options.file)
  if (!prompt?.trim())
    throw usageFailure(
      'A prompt is needed.',
      "runyard fork RUN_ID 'what to do', -f FILE, or - for standard input",
    )
  return {
    prompt,
    ...(turn === undefined ? {} : { turn }),
    ...(sequence === undefined ? {} : { sequence }),
    ...(await requestOf(options)),
  }
}

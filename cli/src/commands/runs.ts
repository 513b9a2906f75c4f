import {
  APIError,
  type RunEvent,
  type RunFollowupRequest,
  type RunFollowupResponse,
  type RunItem,
  type Runyard,
} from '@runyard/client'
import type { Command } from 'commander'
import { addBudgetOptions, type BudgetOptions, budgetOf } from '../budget-options.ts'
import { currentProcess } from '../current-process.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { repeated, wholeNumber } from '../option-values.ts'
import { readMessage } from '../read-input.ts'
import { describeDebug, describeRun, hasChanges } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { watchRun } from '../watch-run.ts'
import { watchTree } from '../watch-tree.ts'

interface FollowOptions extends ClientOptions {
  after?: number
  full?: boolean
  tree?: boolean
}

interface MessageOptions extends ClientOptions, BudgetOptions {
  file?: string
  attach?: string[]
  model?: string
  interrupt?: boolean
  reject?: boolean
  wait?: boolean
  full?: boolean
}

const OUTCOMES: Record<RunFollowupResponse['outcome'], string> = {
  queued_prompt: 'The run has not started yet; the agent gets the message with its prompt.',
  live_session: 'The agent gets the message at its next step.',
  handoff_execution: 'The run goes on with the message.',
  queue_pending: 'The message waits; the run goes on with it as soon as it can.',
}

/** `get`, `follow`, `message`, `approve`, `cancel`, `interrupt`: what is done with one run. */
export function addRunsCommands(program: Command): void {
  addClientOptions(
    program.command('get <run-id>').summary('show a run').description('Shows one run.'),
  ).action(async (run_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const run = await client.runs.retrieve(run_id)
    if (output.format !== 'text') return output.json(run)
    output.line(describeRun(run, output, await nameEnvironment(client, run)))
    if (hasChanges(run))
      output.note(output.colors.dim(`See the changes: runyard diff ${output.id(run.run_id)}`))
  })

  addClientOptions(
    program
      .command('follow <run-id>')
      .summary('watch a run')
      .description('Shows a run from its start, or from an event on, until it ends.')
      .option('--after <sequence>', 'only what follows this event', wholeNumber(0, Number.MAX_SAFE_INTEGER))
      .option('--tree', 'all runs below it as well, each line with the end of its run’s id before it')
      .option('--full', 'show all output of commands instead of its end'),
  ).action(async (run_id: string, options: FollowOptions) => {
    if (options.tree) {
      if (options.after !== undefined) throw usageFailure('Give --tree or --after, not both.')
      currentProcess().exitCode = await watchTree(openSession(options), run_id, { full: options.full })
      return
    }
    const after = options.after === undefined ? {} : { after: options.after }
    currentProcess().exitCode = await watchRun(openSession(options), run_id, { ...after, full: options.full })
  })

  addClientOptions(
    addBudgetOptions(
      program
        .command('message <run-id> [text...]')
        .summary('send a message to a run')
        .description('Sends a message to the agent, whatever the run is doing; an ended run goes on with it.')
        .option('-f, --file <file>', 'read the message from a file, - for standard input')
        .option('-a, --attach <file>', 'file for the agent, up to 10 MiB; repeat for up to 25', repeated)
        .option(
          '-m, --model <id>',
          'model that answers from this message on, as `runyard model list` names it',
        )
        .option('--interrupt', 'stop what the agent is doing now')
        .option('--reject', 'refuse when the agent is working')
        .option('-w, --wait', 'watch what comes of it')
        .option('--full', 'show all output of commands instead of its end'),
    ),
  ).action(sendMessage)

  addClientOptions(
    program
      .command('approve <run-id>')
      .summary('allow or deny what the agent asks for')
      .description('Allows the call that a blocked run waits with, or denies it; the run goes on.')
      .option('--always', 'allow all calls of this run that the same rule asks about')
      .option('--deny [reason]', 'deny it; the agent is told why')
      .option('-w, --wait', 'watch what comes of it')
      .option('--full', 'show all output of commands instead of its end'),
  ).action(approve)

  addClientOptions(
    program
      .command('cancel <run-id>')
      .summary('cancel a run')
      .description('Cancels a run; what it has done stays readable.'),
  ).action(async (run_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const cancelled = await client.runs.cancel(run_id)
    if (output.format === 'text') output.line(`Cancelled ${output.id(cancelled)}`)
    else output.json(cancelled)
  })

  addClientOptions(
    program
      .command('interrupt <run-id>')
      .summary('stop what the agent is doing')
      .description('Stops what the agent is doing and keeps the run, which waits for a message then.'),
  ).action(async (run_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const interrupted = await client.runs.interrupt(run_id)
    if (output.format === 'text') output.line(`Interrupted ${output.id(interrupted.run_id)}`)
    else output.json(interrupted)
  })
}

/** What the environment is called now; undefined where it is gone, or there is none. */
async function nameEnvironment(
  { environments }: Runyard,
  { agent_config }: RunItem,
): Promise<string | undefined> {
  const { environment_id } = agent_config
  if (environment_id === undefined) return undefined
  try {
    return (await environments.retrieve(environment_id)).config.name
  } catch (error) {
    if (error instanceof APIError) return undefined
    throw error
  }
}

interface ApproveOptions extends ClientOptions {
  always?: boolean
  deny?: string | true
  wait?: boolean
  full?: boolean
}

const CALL_PAGE = 1_000

async function approve(run_id: string, options: ApproveOptions): Promise<void> {
  const { always, deny, wait, full } = options
  if (always && deny !== undefined) throw usageFailure('Give --always or --deny, not both.')
  const session = openSession(options)
  const { client, output } = session
  const approval = (await client.runs.retrieve(run_id)).status_message?.approval
  if (!approval) throw new CommandFailure('The run does not wait for an approval.')
  const decision = deny === undefined ? (always ? 'allow_always' : 'allow_once') : 'deny'
  const answered = await client.runs.answerApproval(run_id, approval.approval_id, {
    decision,
    ...(typeof deny === 'string' ? { reason: deny } : {}),
  })
  if (wait) {
    // From the call on, so that what it prints is shown with it.
    const after = Math.max(0, answered.sequence - CALL_PAGE)
    const { events } = await client.runs.events(run_id, { after, limit: CALL_PAGE })
    const isCall = (event: RunEvent): boolean =>
      event.type === 'tool.call' && event.data.tool_call_id === approval.tool_call_id
    const from = (events.find(isCall)?.sequence ?? answered.sequence) - 1
    currentProcess().exitCode = await watchRun(session, run_id, { after: from, is_known: true, full })
  } else if (output.format !== 'text') output.json(answered)
  else output.line(oneLine(`${deny === undefined ? 'Allowed' : 'Denied'} ${approval.title ?? approval.tool}`))
}

async function sendMessage(run_id: string, words: string[], options: MessageOptions): Promise<void> {
  if (options.interrupt && options.reject) throw usageFailure('Give --interrupt or --reject, not both.')
  const message = await readMessage(words, options.file)
  if (!message?.trim() && !options.attach)
    throw usageFailure('A message is needed.', "runyard message RUN_ID 'what to say', or -f FILE")
  const session = openSession(options)
  const { client, output } = session
  const { readUpload } = options.attach ? await import('../attachment.ts') : {}
  const files = readUpload && options.attach?.map(readUpload)
  const followup: RunFollowupRequest = {
    message: message ?? '',
    ...budgetOf(options),
    ...(options.model ? { model_id: options.model } : {}),
    ...(options.interrupt ? { on_busy: 'interrupt' } : options.reject ? { on_busy: 'reject' } : {}),
    ...(files ? { attachments: await client.runs.uploadAttachments(run_id, { files }) } : {}),
  }
  const accepted = await client.runs.followup(run_id, followup)
  if (options.wait) {
    currentProcess().exitCode = await watchRun(session, run_id, {
      since_followup: accepted.followup_id,
      is_known: true,
      full: options.full,
    })
  } else if (output.format === 'text') {
    const may_debug = accepted.outcome === 'queue_pending' || accepted.outcome === 'live_session'
    const debug = may_debug ? describeDebug(await client.runs.retrieve(run_id)) : undefined
    output.line(debug ? `Debug turn: ${debug}` : (OUTCOMES[accepted.outcome] ?? oneLine(accepted.outcome)))
  } else output.json(accepted)
}

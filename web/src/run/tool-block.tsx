import { memo, type ReactNode, useMemo, useState } from 'react'
import { useAccess } from '../client.ts'
import { countOf, formatBytes, formatDuration } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { useNow } from '../ui/clock.ts'
import { ScrollText } from '../ui/scroll-box.tsx'
import { Counts } from './changes.tsx'
import { WithRunLinks } from './child-runs.tsx'
import type { ToolCall } from './entry.ts'
import { EditLines, type FileEdit, readEdit } from './file-edit.tsx'
import { FoldBlock } from './fold-block.tsx'
import { PlanSteps } from './plan-panel.tsx'
import { readSteps } from './plan-steps.ts'
import { saveOutput } from './save-output.ts'
import { TerminalOutput } from './terminal-output.tsx'

/** Characters of an input or answer that are shown. */
const MOST = 64 * 1024

/** Lines of an edit that are shown, and of one that is open to begin with. */
const MOST_LINES = 1_000
const SMALL_EDIT = 24
/** What the agent is told beside what a command printed; the frame says it, too. */
const ENDED_WITH = /\n?\[exit code \d+\]$/

const clip = (text: string): string =>
  text.length > MOST ? `${text.slice(0, MOST)}\n… (${formatBytes(text.length - MOST)} more)` : text

/** A call of a tool: what was asked, what it printed, how it ended. Commands and small edits are open, other tools folded. */
export const ToolBlock = memo(function ToolBlock({ call, run_id }: { call: ToolCall; run_id: string }) {
  const { input, title, result, status, output } = call
  const command = typeof input.command === 'string' ? clip(plainText(input.command)) : undefined
  const [chosen, setChosen] = useState<boolean>()
  const edit = useMemo(() => readEdit(input), [input])
  const is_told_there = call.name === 'plan' || call.name === 'spawn_run'
  const is_small = edit !== undefined && edit.lines.length <= SMALL_EDIT
  const is_open = chosen ?? (command !== undefined || status === 'failed' || is_small || is_told_there)
  // A command that has not begun is in the title.
  const has_more = command === undefined || command !== title || !output.is_empty || result !== undefined
  // A title that is the command, or the start of it, is set like one; the whole stands below, once.
  const is_command = command?.startsWith(title.replace(/…$/, '')) ?? false
  return (
    <FoldBlock
      name={call.name}
      status={status}
      is_open={is_open}
      onFold={setChosen}
      figures={
        <>
          {edit && status !== 'failed' ? <Counts {...edit} /> : null}
          <Figures call={call} />
        </>
      }
      title={
        <span
          title={title}
          className={`min-w-0 truncate font-medium ${is_command ? "font-mono font-normal before:text-soft before:content-['$_']" : ''}`}
        >
          {title}
        </span>
      }
    >
      {has_more ? (
        <div className="grid gap-2">
          {command === undefined ? (
            <Input call={call} edit={edit} />
          ) : command === title ? null : (
            <Frame>
              <span className="text-soft select-none">$ </span>
              {command}
            </Frame>
          )}
          {output.is_empty ? null : (
            <TerminalOutput
              output={output}
              revision={call.revision}
              saveAll={<SaveAll run_id={run_id} call={call} />}
            />
          )}
          <Answer call={call} />
          {result?.truncated_bytes ? (
            <p className="m-0 text-soft">{formatBytes(result.truncated_bytes)} of output were left out.</p>
          ) : null}
        </div>
      ) : null}
    </FoldBlock>
  )
})

function Figures({ call: { status, result, started_at } }: { call: ToolCall }) {
  const took = result?.duration_ms
  return (
    <>
      {status === 'running' ? <Running since={started_at} /> : null}
      {status === 'waiting' ? <span className="text-wait">not begun</span> : null}
      {status === 'stopped' ? <span>stopped</span> : null}
      {typeof result?.exit_code === 'number' ? (
        <span className={result.exit_code === 0 ? '' : 'text-bad'}>exit {result.exit_code}</span>
      ) : status === 'failed' ? (
        <span className="text-bad">failed</span>
      ) : null}
      {took === undefined ? null : <span>{formatDuration(took)}</span>}
    </>
  )
}

function Running({ since }: { since: number }) {
  const spent = useNow() - since
  return spent >= 1000 ? <span>{formatDuration(Math.floor(spent / 1000) * 1000)}</span> : null
}

/** What the agent was told, where it is not the output itself. */
function Answer({ call: { name, result, output } }: { call: ToolCall }) {
  // What a plan is stands in its steps.
  if (!result || (name === 'plan' && !result.is_error)) return null
  const told = result.output?.trim() ? clip(plainText(result.output)) : ''
  if (!told || told === '(no output)')
    return output.is_empty ? <p className="m-0 text-soft">No output.</p> : null
  const names_runs = name === 'spawn_run' || name === 'read_run'
  const text = <Frame>{names_runs ? <WithRunLinks text={told} /> : told}</Frame>
  if (output.is_empty) return text
  if (told.replace(ENDED_WITH, '').trim() === output.text.trim()) return null
  return (
    <details>
      <summary className="chevron w-fit text-soft">What the agent was told</summary>
      {text}
    </details>
  )
}

/** What is asked, where it is no command. */
function Input({ call: { name, input }, edit }: { call: ToolCall; edit: FileEdit | undefined }) {
  if (edit)
    return (
      <Frame>
        <EditLines lines={edit.lines.slice(0, MOST_LINES)} />
        {edit.lines.length > MOST_LINES
          ? `… (${countOf(edit.lines.length - MOST_LINES, 'more line')})`
          : null}
      </Frame>
    )
  const steps = name === 'plan' ? readSteps(input.steps) : undefined
  if (steps) return <PlanSteps steps={steps} />
  if (name === 'spawn_run' && typeof input.prompt === 'string')
    return <Frame>{clip(plainText(input.prompt))}</Frame>
  const names = Object.keys(input)
  if (names.length === 0 || (names.length === 1 && typeof input.path === 'string')) return null
  return <Frame>{clip(plainText(input))}</Frame>
}

function Frame({ children }: { children: ReactNode }) {
  return <ScrollText className="max-h-88 text-xs leading-relaxed">{children}</ScrollText>
}

function SaveAll({ run_id, call }: { run_id: string; call: ToolCall }) {
  const { client } = useAccess()
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle')
  const save = async () => {
    setState('busy')
    const saved = await saveOutput(client, run_id, call.key).then(
      () => 'idle' as const,
      () => 'failed' as const,
    )
    setState(saved)
  }
  return (
    <button type="button" className="text-accent underline" disabled={state === 'busy'} onClick={save}>
      {state === 'busy' ? 'Reading…' : state === 'failed' ? 'That failed. Try again' : 'Save all of it'}
    </button>
  )
}

import { memo, type ReactNode, useState } from 'react'
import { useAccess } from '../client.ts'
import { BreakableText } from '../text/breakable-text.tsx'
import { formatBytes, formatDuration } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { useNow } from '../ui/clock.ts'
import { ScrollText } from '../ui/scroll-box.tsx'
import type { ToolCall } from './entry.ts'
import { FoldBlock } from './fold-block.tsx'
import { saveOutput } from './save-output.ts'
import { TerminalOutput } from './terminal-output.tsx'

/** Characters of an input or answer that are shown. */
const MOST = 64 * 1024

const clip = (text: string): string =>
  text.length > MOST ? `${text.slice(0, MOST)}\n… (${formatBytes(text.length - MOST)} more)` : text

/** A call of a tool: what was asked, what it printed, how it ended. Commands are open, file tools folded. */
export const ToolBlock = memo(function ToolBlock({ call, run_id }: { call: ToolCall; run_id: string }) {
  const { input, title, result, status, output } = call
  const command = typeof input.command === 'string' ? clip(plainText(input.command)) : undefined
  const [chosen, setChosen] = useState<boolean>()
  const is_open = chosen ?? (command !== undefined || status === 'failed')
  // A title that is the command, or the start of it, is set like one; the whole stands below, once.
  const is_command = command?.startsWith(title.replace(/…$/, '')) ?? false
  return (
    <FoldBlock
      name={call.name}
      status={status}
      is_open={is_open}
      onFold={setChosen}
      figures={<Figures call={call} />}
      title={
        <span
          title={title}
          className={`min-w-0 truncate font-medium ${is_command ? "font-mono font-normal before:text-soft before:content-['$_']" : ''}`}
        >
          {title}
        </span>
      }
    >
      <div className="grid gap-2">
        {command === undefined ? (
          <Input input={input} />
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
function Answer({ call: { result, output } }: { call: ToolCall }) {
  if (!result) return null
  const told = result.output?.trim() ? clip(plainText(result.output)) : ''
  if (!told) return output.is_empty ? <p className="m-0 text-soft">No output.</p> : null
  const text = <Frame>{told}</Frame>
  if (output.is_empty) return text
  return (
    <details>
      <summary className="chevron w-fit text-soft">What the agent was told</summary>
      {text}
    </details>
  )
}

function Input({ input }: { input: Record<string, unknown> }) {
  const { path, content, old_text, new_text, ...rest } = input
  if (typeof path === 'string' && typeof old_text === 'string' && typeof new_text === 'string') {
    return (
      <Frame>
        <Lines sign="-" text={old_text} />
        <Lines sign="+" text={new_text} />
      </Frame>
    )
  }
  if (typeof path === 'string' && typeof content === 'string' && Object.keys(rest).length === 0) {
    return (
      <Frame>
        <Lines sign="+" text={content} />
      </Frame>
    )
  }
  const names = Object.keys(input)
  if (names.length === 0 || (names.length === 1 && typeof path === 'string')) return null
  return <Frame>{clip(plainText(input))}</Frame>
}

function Frame({ children }: { children: ReactNode }) {
  return <ScrollText className="max-h-88 text-xs leading-relaxed">{children}</ScrollText>
}

function Lines({ sign, text }: { sign: '+' | '-'; text: string }) {
  const lines = clip(plainText(text)).replace(/\n$/, '').split('\n')
  return (
    <span className={sign === '+' ? 'text-good' : 'text-bad'}>
      <BreakableText text={lines.map((line) => `${sign} ${line}\n`).join('')} />
    </span>
  )
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

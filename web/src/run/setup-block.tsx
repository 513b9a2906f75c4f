import { memo, useState } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'
import { formatDuration } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { ScrollText } from '../ui/scroll-box.tsx'
import type { Entry, SetupStep } from './entry.ts'
import { FoldBlock } from './fold-block.tsx'
import { StatusDot } from './status-dot.tsx'
import { TerminalOutput } from './terminal-output.tsx'

const PHASES: Record<string, string> = {
  sandbox: 'Sandbox',
  restore: 'Workspace',
  clone: 'Clone',
  command: 'Setup',
  tool_server: 'Tool server',
  skill: 'Skill',
}
const TITLES = { running: 'Setting up', done: 'Set up', failed: 'Setup failed', stopped: 'Setup was stopped' }

/** How the sandbox was prepared, step by step; folded once it is done. */
export const SetupBlock = memo(function SetupBlock({
  steps,
  status,
}: {
  steps: readonly SetupStep[]
  status: Extract<Entry, { kind: 'setup' }>['status']
}) {
  const [chosen, setChosen] = useState<boolean>()
  const is_open = chosen ?? (status === 'running' || status === 'failed')
  const spent = steps.reduce((sum, step) => sum + (step.duration_ms ?? 0), 0)
  return (
    <FoldBlock
      name="setup"
      status={status}
      is_open={is_open}
      onFold={setChosen}
      title={<span className="font-medium">{TITLES[status]}</span>}
      figures={spent > 0 ? <span>{formatDuration(spent)}</span> : null}
    >
      <ul className="m-0 grid list-none gap-1.5 p-0">
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps are added at the end only.
          <Step key={index} step={step} />
        ))}
      </ul>
    </FoldBlock>
  )
})

function Step({ step }: { step: SetupStep }) {
  const status = step.status === 'started' ? 'running' : step.status === 'failed' ? 'failed' : 'done'
  const output = step.output?.trim() ? plainText(step.output) : ''
  const note = step.workspace?.note
  const is_live = step.status === 'started' && !step.printed.is_empty
  // What a log of before holds is the end alone.
  const printed = step.printed.is_empty ? (
    <ScrollText className="mt-1 max-h-88 text-xs leading-relaxed">{output}</ScrollText>
  ) : (
    <TerminalOutput output={step.printed} revision={step.revision} saveAll={null} />
  )
  return (
    <li className="grid gap-1">
      <span className="flex flex-wrap items-center gap-x-2.5">
        <StatusDot status={status} />
        <span className="text-soft">{PHASES[step.phase] ?? plainText(step.phase)}</span>
        <code className="min-w-0 wrap-anywhere">
          <BreakableText text={plainText(step.name)} />
        </code>
        <span className="tabular ml-auto flex gap-3 font-mono text-soft text-xs">
          {step.exit_code ? <span className="text-bad">exit {step.exit_code}</span> : null}
          {step.duration_ms === undefined ? null : <span>{formatDuration(step.duration_ms)}</span>}
        </span>
      </span>
      {note ? (
        <p className="m-0 pl-4.5 text-wait wrap-anywhere">
          <BreakableText text={plainText(note)} />
        </p>
      ) : null}
      {step.first_error ? (
        <p className="m-0 pl-4.5 font-mono text-bad text-xs wrap-anywhere">
          <BreakableText text={plainText(step.first_error)} />
        </p>
      ) : null}
      {is_live ? <div className="pl-4.5">{printed}</div> : null}
      {!is_live && (output || !step.printed.is_empty) ? (
        <details className="pl-4.5">
          <summary className="chevron w-fit text-soft">Output</summary>
          {printed}
        </details>
      ) : null}
    </li>
  )
}

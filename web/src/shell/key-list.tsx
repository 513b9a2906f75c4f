import { KeyHint } from '../ui/key-hint.tsx'

/** How the key of commands is called on this machine. */
export const COMMAND_K = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'

/** Every key that the page listens to. */
export function KeyList({ may_write }: { may_write: boolean }) {
  const keys = [
    [COMMAND_K, 'Go to a page or a run'],
    ['/', 'Search the runs; Enter or Escape leads back to the list'],
    ['j', 'Next run in the list'],
    ['k', 'Previous run in the list'],
    ['Enter', 'Open the run'],
    ...(may_write ? [['c', 'New run']] : []),
    ['?', 'This list'],
  ] as const
  return (
    <dl className="m-0 grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-2.5 px-5 py-4 text-sm">
      {keys.map(([key, what]) => (
        <div key={key} className="contents">
          <dt className="text-right">
            <KeyHint>{key}</KeyHint>
            <span className="unseen">{key}</span>
          </dt>
          <dd className="m-0">{what}</dd>
        </div>
      ))}
    </dl>
  )
}

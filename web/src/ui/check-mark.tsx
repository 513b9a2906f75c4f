import { CircleDot, Square, SquareCheck } from 'lucide-react'

const MARKS = {
  done: { Icon: SquareCheck, label: 'done', tone: 'text-good' },
  in_progress: { Icon: CircleDot, label: 'in progress', tone: 'text-accent' },
  pending: { Icon: Square, label: 'open', tone: 'text-soft' },
} as const

/** How far a step of a list is: nothing to click on. */
export function CheckMark({ status }: { status: keyof typeof MARKS }) {
  const { Icon, label, tone } = MARKS[status]
  return (
    <Icon role="img" aria-label={label} className={`mr-1.5 inline size-4 shrink-0 align-[-0.15em] ${tone}`} />
  )
}

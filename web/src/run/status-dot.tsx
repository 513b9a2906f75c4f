const TONES = {
  running: 'bg-accent breathe',
  waiting: 'bg-wait',
  done: 'bg-good',
  failed: 'bg-bad',
  stopped: 'bg-soft',
} as const

/** How a call or a step stands; what it says in colour stands in words beside it. */
export function StatusDot({ status }: { status: keyof typeof TONES }) {
  return <span aria-hidden className={`size-2 shrink-0 rounded-full ${TONES[status]}`} />
}

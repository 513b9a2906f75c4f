import { GitFork, RotateCcw } from 'lucide-react'

/** What an ended run is the start of. */
export const ANEW = [
  { label: 'Fork', Icon: GitFork, searchFor: (run_id: string) => ({ fork: run_id }) },
  { label: 'Retry', Icon: RotateCcw, searchFor: (run_id: string) => ({ replay: run_id }) },
] as const

/** States of a run that is queued or at work. */
export const WORKING: readonly string[] = ['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS']
/** The same, or it waits for somebody. */
export const OPEN: readonly string[] = [...WORKING, 'BLOCKED']

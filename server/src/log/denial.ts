import type { EventData } from '../contract/event.ts'

/** How the results of calls begin that were not allowed. The agent reads them, and a conversation knows them by it. */
export const DENIED_BY_USER = 'The user denied this call.'
export const DENIED_BY_RULE = 'The permissions of this run deny this call'

/** A call that was carried out may print the same, but then it has an exit code or a duration. */
export const isDenied = ({ is_error, output, exit_code, duration_ms }: EventData<'tool.result'>): boolean =>
  is_error &&
  exit_code === undefined &&
  duration_ms === undefined &&
  [DENIED_BY_USER, DENIED_BY_RULE].some((words) => output?.startsWith(words))

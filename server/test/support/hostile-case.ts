import type { ErrorCode } from '../../src/contract/error.ts'

/** A request and the exact problem it must be answered with. `{run}`, `{nowhere}` and `{RUN}` stand for ids. */
export interface HostileCase {
  name: string
  method?: string
  /** Below `/api/v1`, unless `whole_path` is set. */
  path: string
  whole_path?: boolean
  /** `null` leaves the good key out. */
  key?: null | 'viewer'
  headers?: ReadonlyArray<readonly [string, string]>
  /** Strings and bytes go out as they are, other values as JSON. */
  body?: unknown
  status: number
  code: ErrorCode
  detail: string
  retryable?: boolean
  /** Headers the answer must have. */
  answers?: Record<string, string>
}

import { z } from 'zod'
import type { Role } from './actor.ts'
import type { ErrorCode } from './error.ts'

/** One operation of the API. `http/` serves it, `openapi.ts` describes it; neither knows more than this. */
export interface RouteDefinition {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`, parameters in braces. */
  path: string
  summary: string
  description?: string
  tag:
    | 'Runs'
    | 'Schedules'
    | 'Triggers'
    | 'Environments'
    | 'Secrets'
    | 'Skills'
    | 'Models'
    | 'Artifacts'
    | 'Webhooks'
    | 'Access'
    | 'Networking'
    | 'Workers'
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  status: 200 | 201 | 202 | 302
  /** JSON body of the answer; absent for a redirect, and for what is a stream only. */
  response?: z.ZodType
  /**
   * It makes or changes something that its path does not name, and this field of the answer is the id, which the audit log
   * notes. Routes below this path take it by `param`.
   */
  target?: { field: string; param?: string }
  /** The answer is a page with `page_info`, and this is what it lists. */
  pages?: string
  /** The answer is an event stream when the caller accepts `text/event-stream`. */
  streams?: boolean
  errors: ErrorCode[]
  /** Only keys of this role may call it. Without: all may read, and all but viewers write. */
  role?: Role
  /** Nobody has to say who they are. */
  is_public?: true
  /** Viewers may call it too, though it writes. */
  for_viewers?: boolean
  /** Who visits one run without a key may call it, too, for that run. */
  for_visitors?: true
  /** Counts against what a key may create in a minute. */
  creates_run?: true
  /** May carry attachments, so its body may reach 64 MiB. */
  large?: boolean
}

export const Empty = z
  .object({})
  .meta({ title: 'NoBody' })
  .nullish()
  .meta({ description: 'No body is needed.' })
export const define = <const T extends RouteDefinition>(route: T): T => route
export const reading: ErrorCode[] = ['authentication_required', 'resource_not_found', 'resource_unavailable']
export const writing: ErrorCode[] = ['invalid_request', 'not_authorized', 'conflict', ...reading]

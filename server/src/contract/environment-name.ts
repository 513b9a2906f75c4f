import { z } from 'zod'
import { isEnvironmentId } from './environment-id.ts'

/** The filter of runs that have no environment. */
export const NO_ENVIRONMENT = 'empty-environment'

const MAX_LENGTH = 256
/** Paths with these are other paths, and the filter has a meaning of its own. */
const RESERVED = ['.', '..', NO_ENVIRONMENT]

/** A name stands wherever an id does, so none may be taken for something else. */
export const EnvironmentName = z
  .string()
  .trim()
  .min(1)
  .max(MAX_LENGTH)
  .refine((name) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name), 'must have no control characters')
  .refine((name) => !isEnvironmentId(name), 'must not look like an id (22 characters of A-Z, a-z, 0-9)')
  .refine((name) => !RESERVED.includes(name), 'is reserved')

/** What addresses an environment: its id, or its name exactly as it is. */
export const EnvironmentReference = z.string().min(1).max(MAX_LENGTH)
export const kindOfReference = (reference: string): 'id' | 'name' =>
  isEnvironmentId(reference) ? 'id' : 'name'

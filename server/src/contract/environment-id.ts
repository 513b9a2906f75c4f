import { z } from 'zod'

const FORM = /^[A-Za-z0-9]{22}$/

/** What environment ids look like on the wire. */
export const isEnvironmentId = (text: string): boolean => FORM.test(text)
export const EnvironmentId = z.string().regex(FORM, 'must be 22 characters of A-Z, a-z, 0-9')

import { z } from 'zod'

/** Marks a field in the API's description whose value is a secret that no other answer holds. */
export const SHOWN_ONCE = 'x-shown-once'

/** A field of an answer that holds a new secret. Only `http/sealed-answer.ts` sends one; a test tries every operation that has one. */
export const shownOnce = (description: string): z.ZodString =>
  z.string().meta({ description, [SHOWN_ONCE]: true })

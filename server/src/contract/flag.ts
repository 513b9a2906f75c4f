import { z } from 'zod'

/** A yes or no in a query. */
export const flag = () =>
  z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((text) => text === 'true')
    .pipe(z.boolean())

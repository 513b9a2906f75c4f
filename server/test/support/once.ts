import { test } from 'node:test'
import type { BackendName } from './sandbox-backends.ts'

/** Whether this is `npm run test:long`, which repeats on every sandbox, and more often, what `npm test` shows once. */
export const LONG = Boolean(process.env.RUNYARD_TEST_LONG)

/** Registers what takes long and is seldom touched: with `--long` only. */
export const onlyLong: typeof test | (() => void) = LONG ? test : () => {}

/**
 * Registers what is the same code on every backend: tested on the one that costs least, and with `--long` on all. What differs
 * between backends is a plain `test`.
 */
export const onceAmong = (sandbox: BackendName): typeof test | (() => void) =>
  sandbox === 'bubblewrap' || LONG ? test : () => {}

import type { Harness } from './harness.ts'

/**
 * A harness whose code is loaded when a run first needs it, for what lies under some is large and many services need none of
 * it: `known` of it are the parts that are asked for before.
 */
export const loadLater = (
  known: Pick<Harness, 'traits' | 'runs_inside'>,
  load: () => Promise<Harness>,
): Harness => ({
  ...known,
  resolveModel: async (config) => (await load()).resolveModel?.(config),
  open: async (execution) => (await load()).open(execution),
})

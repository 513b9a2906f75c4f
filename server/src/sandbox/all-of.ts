/** Waits for all of them, also when one fails, and then fails as the first did: none goes on behind the caller's back. */
export async function allOf(calls: ReadonlyArray<Promise<unknown>>): Promise<void> {
  await Promise.allSettled(calls)
  await Promise.all(calls)
}

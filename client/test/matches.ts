/**
 * Undefined when `actual` has all that `expected` names, else what differs and where. Objects may have more keys, arrays
 * have the same length; `{"$match": regexp}`, `{"$absent": true}` (also null), `{"$any": true}`.
 */
export function matches(actual: unknown, expected: unknown, path: string): string | undefined {
  const differs = (wanted: string) => `${path} is ${show(actual)}, not ${wanted}`
  if (expected === null || typeof expected !== 'object') {
    return Object.is(actual, expected) ? undefined : differs(show(expected))
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return differs('an array')
    if (actual.length !== expected.length)
      return `${path} has length ${actual.length}, not ${expected.length}: ${show(actual)}`
    return firstProblem(expected, (item, index) => matches(actual[index], item, `${path}[${index}]`))
  }
  if ('$absent' in expected) return actual === undefined || actual === null ? undefined : differs('absent')
  if ('$any' in expected) return actual === undefined || actual === null ? differs('there') : undefined
  if ('$match' in expected) {
    const is_match = typeof actual === 'string' && new RegExp(String(expected.$match)).test(actual)
    return is_match ? undefined : differs(`like ${String(expected.$match)}`)
  }
  if (actual === null || typeof actual !== 'object') return differs(show(expected))
  return firstProblem(Object.entries(expected), ([key, value]) =>
    matches(Reflect.get(actual, key), value, `${path}.${key}`),
  )
}

function firstProblem<T>(
  items: T[],
  check: (item: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const problem = check(item, index)
    if (problem) return problem
  }
  return undefined
}

const show = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 500)

type JsonObject = Record<string, unknown>

/** What was typed; nothing is no object, and nothing wrong. */
export function readObject(text: string): { object?: JsonObject } | { problem: string } {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { object: { ...value } }
    return { problem: 'It has to be a JSON object, in braces.' }
  } catch (error) {
    return { problem: `This is no JSON: ${error instanceof Error ? error.message : error}` }
  }
}

export const isObject = (text: string): boolean => !('problem' in readObject(text))

/** Undefined also where it is wrong: the form is not sent then. */
export function objectOf(text: string): JsonObject | undefined {
  const read = readObject(text)
  return 'object' in read ? read.object : undefined
}

export const writeObject = (object: object | null | undefined): string =>
  object ? JSON.stringify(object, null, 2) : ''

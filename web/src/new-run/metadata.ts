/** Metadata as text, one `key=value` a line. A value that a line would not keep as it is stands as JSON. */
export const writeMetadata = (metadata: Record<string, string> | undefined): string =>
  Object.entries(metadata ?? {})
    .map(([key, value]) => `${key}=${isPlain(value) ? value : JSON.stringify(value)}`)
    .join('\n')

const isPlain = (value: string): boolean => value === value.trim() && !/^"|[\r\n]/.test(value)

export function readMetadata(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=')
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), readValue(line.slice(at + 1).trim())]
    }),
  )
}

function readValue(text: string): string {
  if (!text.startsWith('"')) return text
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : text
  } catch {
    return text
  }
}

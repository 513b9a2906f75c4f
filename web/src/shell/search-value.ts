/** Text of an address that anybody may have written, where there is any. */
export const textOf = (value: unknown): string | undefined => {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? text.slice(0, 256) : undefined
}

/** The midnight that many days back, so that the same address asks for the same page all day. */
export function startOfDay(days_back: number): string {
  const day = new Date()
  day.setHours(0, 0, 0, 0)
  day.setDate(day.getDate() - days_back + 1)
  return day.toISOString()
}

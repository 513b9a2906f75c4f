/** Days back, which the service counts up to a year. */
export function readRange({ days }: Record<string, unknown>): { days?: number } {
  return typeof days === 'number' && Number.isInteger(days) && days > 0 && days <= 365 ? { days } : {}
}

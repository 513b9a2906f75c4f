/** As in `4.2 s` and `3 min 7 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`
  if (milliseconds < 9_950) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB']
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export const formatCost = (dollars: number): string => `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`

export const formatCount = (count: number): string => count.toLocaleString('en')

/** One noun with its number: `1 file`, `3 files`. */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`

/** How long ago, in the largest whole unit: `just now`, `5 min ago`, `yesterday` is `1 d ago`. */
export function formatAgo(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1000)
  if (seconds < 0) return `in ${formatSpan(-seconds)}`
  return seconds < 5 ? 'just now' : `${formatSpan(seconds)} ago`
}

function formatSpan(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** Milliseconds of an ISO 8601 duration of days and below, such as `PT1M3.5S`. */
export function parseDuration(text: string): number {
  const parts = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text)
  if (!parts) return 0
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0))
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
}

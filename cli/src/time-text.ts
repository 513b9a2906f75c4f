const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** `35 ms`, `0.3 s`, `12.0 s`, `3 m 4 s`, `2 h 5 m`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 99.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  return hours > 0 ? `${hours} h ${minutes} m` : `${minutes} m ${seconds % 60} s`
}

/** `just now`, `12s ago`, `3m ago`, `5d ago`. */
export function formatAge(moment: string, now = Date.now()): string {
  const age = now - Date.parse(moment)
  const unit = UNITS.find(([, size]) => age >= size)
  return unit ? `${Math.floor(age / unit[1])}${unit[0]} ago` : 'just now'
}

/** `now`, `in 12s`, `in 3m`, `in 5d`. */
export function formatUntil(moment: string, now = Date.now()): string {
  const left = Date.parse(moment) - now
  const unit = UNITS.find(([, size]) => left >= size)
  return unit ? `in ${Math.floor(left / unit[1])}${unit[0]}` : 'now'
}

/** `Tue, 1 Dec 2026, 09:00 CET`: a time as people of this zone say it. */
export function formatMoment(moment: string, time_zone: string): string {
  const time = new Date(moment)
  return new Intl.DateTimeFormat('en-GB', {
    timeZone: time_zone,
    ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
    ...(time.getUTCSeconds() === 0 ? {} : { second: '2-digit' }),
  }).format(time)
}

/** The milliseconds of an ISO 8601 duration as the service writes them: `PT1H2M3.5S`. */
export function parseDuration(text: string): number {
  const [, hours, minutes, seconds] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?$/.exec(text) ?? []
  return (Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0)) * 1000
}

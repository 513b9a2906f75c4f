const sayMoment = (time: string, timeZone?: string) =>
  new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short', timeZone })

/** When a schedule is due next, in its own time zone; the reader's own time on hover. */
export function NextTime({ times: [time], time_zone }: { times: readonly string[]; time_zone: string }) {
  if (!time) return <span className="text-sm text-soft sm:text-right">Never due again</span>
  return (
    <span className="text-sm text-soft sm:text-right">
      next{' '}
      <time dateTime={time} title={`${sayMoment(time)}, your time`} className="tabular">
        {sayMoment(time, time_zone)}
      </time>
    </span>
  )
}

/** The times that a schedule is due at next, one below the other. */
export function NextTimes({ times, time_zone }: { times: readonly string[]; time_zone: string }) {
  if (times.length === 0) return <span className="text-sm text-soft">Never due again</span>
  return (
    <div className="tabular text-sm text-soft">
      <ol aria-label="Next times" className="m-0 list-none p-0">
        {times.map((time) => (
          <li key={time}>
            <time dateTime={time} title={`${sayMoment(time)}, your time`}>
              {sayMoment(time, time_zone)}
            </time>
          </li>
        ))}
      </ol>
      <span className="text-xs">{time_zone} time</span>
    </div>
  )
}

/** The same in one line. */
export function TimesIn({ times, time_zone }: { times: readonly string[]; time_zone: string }) {
  return <span className="tabular">{times.map((time) => sayMoment(time, time_zone)).join(' · ')}</span>
}

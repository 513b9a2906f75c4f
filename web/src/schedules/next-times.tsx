/** When a schedule is due next, in its own time zone; the reader's own time on hover. */
export function NextTimes({ times, time_zone }: { times: readonly string[]; time_zone: string }) {
  if (times.length === 0) return <span className="text-sm text-soft">Never due again</span>
  const say = (time: string, timeZone?: string) =>
    new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short', timeZone })
  return (
    <div className="tabular text-sm text-soft">
      <ol aria-label="Next times" className="m-0 list-none p-0">
        {times.map((time) => (
          <li key={time}>
            <time dateTime={time} title={`${say(time)}, your time`}>
              {say(time, time_zone)}
            </time>
          </li>
        ))}
      </ol>
      <span className="text-xs">{time_zone} time</span>
    </div>
  )
}

/** When a schedule is due next, in the reader's own time. */
export function NextTimes({ times }: { times: readonly string[] }) {
  if (times.length === 0) return <span className="text-sm text-soft">Never due again</span>
  return (
    <ol aria-label="Next times" className="tabular m-0 list-none p-0 text-right text-sm text-soft">
      {times.map((time) => (
        <li key={time}>
          <time dateTime={time}>
            {new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })}
          </time>
        </li>
      ))}
    </ol>
  )
}

import { formatAgo } from '../text/format.ts'
import { useNow } from './clock.ts'

/** How long ago something was; the whole date on hover. */
export function Ago({ at }: { at: string }) {
  const now = useNow()
  const moment = new Date(at)
  return (
    <time dateTime={at} title={moment.toLocaleString()} className="tabular whitespace-nowrap">
      {formatAgo(moment.getTime(), now)}
    </time>
  )
}

/** The time of day; the whole date on hover. */
export function TimeOfDay({ at }: { at: string }) {
  const moment = new Date(at)
  return (
    <time dateTime={at} title={moment.toLocaleString()} className="tabular whitespace-nowrap">
      {moment.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}
    </time>
  )
}

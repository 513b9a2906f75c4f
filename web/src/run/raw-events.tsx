import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { TimeOfDay } from '../ui/moment.tsx'
import { Problem } from '../ui/problem.tsx'
import { ScrollText } from '../ui/scroll-box.tsx'
import { saveLog } from './save-output.ts'

const PAGE = 100

/** The log as it is stored. `sequence`: its last event, so that new ones are asked for. */
export function RawEvents({ run_id, sequence }: { run_id: string; sequence: number }) {
  const { client } = useAccess()
  const { data, error, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['run', run_id, 'events'],
    queryFn: ({ pageParam, signal }) =>
      client.runs.events(run_id, { after: pageParam, limit: PAGE }, { signal }),
    initialPageParam: 0,
    getNextPageParam: (page) => page.events.at(-1)?.sequence,
  })
  const events = data?.pages.flatMap((page) => page.events) ?? []
  const last = events.at(-1)?.sequence ?? 0
  const save = useMutation({ mutationFn: () => saveLog(client, run_id) })
  return (
    <div className="grid gap-2">
      <div>
        <Button disabled={save.isPending} onClick={() => save.mutate()}>
          <Download aria-hidden className="size-4" />
          Save all as JSON Lines
        </Button>
      </div>
      {(error ?? save.error) ? <Problem error={error ?? save.error} /> : null}
      <ol className="m-0 grid list-none gap-1 p-0">
        {events.map((event) => (
          <li key={event.sequence} className="rounded-lg border border-line bg-sunken text-xs">
            <details>
              <summary className="chevron flex gap-3 px-3 py-1.5 font-mono">
                <span className="tabular w-10 shrink-0 text-right text-soft">{event.sequence}</span>
                <span className="min-w-0 truncate">{event.type}</span>
                <span className="ml-auto text-soft">
                  <TimeOfDay at={event.occurred_at} />
                </span>
              </summary>
              <ScrollText className="max-h-96 border-line border-t px-3 py-2">
                {plainText(event.data)}
              </ScrollText>
            </details>
          </li>
        ))}
      </ol>
      {last < sequence ? (
        <div>
          <Button disabled={isFetchingNextPage} onClick={() => fetchNextPage()}>
            {isFetchingNextPage ? 'Reading…' : `Show more (${last} of ${sequence})`}
          </Button>
        </div>
      ) : null}
    </div>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { BASE_URL } from '../client.ts'
import { useIsAway, watchedFetch } from './connection.ts'

/** How often a page that asks for nothing else looks whether the service is there. */
const LOOK_MS = 10_000
const LOOK_AGAIN_MS = 2_000

/** Says wherever one has scrolled that the service is away. Once it is back, everything shown is read again. */
export function ConnectionNotice() {
  const queries = useQueryClient()
  const is_away = useIsAway()
  const was_away = useRef(false)
  useQuery({
    queryKey: ['connection'],
    queryFn: async () =>
      (await watchedFetch(new URL('healthz', BASE_URL), { signal: AbortSignal.timeout(LOOK_MS) })).status,
    refetchInterval: is_away ? LOOK_AGAIN_MS : LOOK_MS,
    // The browser's own word on whether there is a network says nothing about this service.
    networkMode: 'always',
  })
  useEffect(() => {
    if (was_away.current && !is_away) queries.invalidateQueries()
    was_away.current = is_away
  }, [queries, is_away])
  return (
    <div role="status" className="fixed inset-x-0 bottom-0 z-30">
      {is_away ? (
        <p className="m-0 border-wait border-t bg-raised px-(--edge) py-1 text-center text-sm text-wait">
          The service cannot be reached. Trying again…
        </p>
      ) : null}
    </div>
  )
}

import { AuthenticationError } from '@runyard/client'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createPageRouter } from './router.tsx'
import { type Arrived, takeArrival } from './shell/arrival.ts'
import { openVisit, SignInError, sessionQuery, signIn } from './shell/session.ts'
import './styles.css'

// Dialogs lock scrolling by a style sheet of their own, which the Content-Security-Policy allows by this number only.
setNonce(document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? '')

const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      // Signed out elsewhere, or the 12 hours are over: the page asks for a key, and keeps its address.
      if (error instanceof AuthenticationError) queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
    },
  }),
  // The library repeats what may pass.
  defaultOptions: { queries: { retry: false, staleTime: 5_000 } },
})
// The library's developer tools and our tests look it up by this name.
Object.assign(window, { __TANSTACK_QUERY_CLIENT__: queries })

async function arrive(): Promise<Arrived> {
  const arrival = takeArrival()
  if (!arrival) return {}
  try {
    if (arrival.kind === 'visit') await openVisit(arrival.run_id, arrival.token)
    else queries.setQueryData(sessionQuery.queryKey, await signIn({ token: arrival.token }))
    return {}
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    if (arrival.kind === 'sign-in' && error instanceof SignInError && error.is_question)
      return { link: { token: arrival.token, question: detail } }
    return { refusal: detail }
  }
}

const arrived = await arrive()
const place = document.getElementById('page')
if (!place) throw new Error('The page has no #page.')
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={createPageRouter(arrived)} />
    </QueryClientProvider>
  </StrictMode>,
)

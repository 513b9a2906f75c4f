import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { BASE_URL, PAGE_HEADER } from '../client.ts'
import { forgetComments } from '../run/stored-comments.ts'
import { watchedFetch } from './connection.ts'

/** Who has signed in here. */
export interface Session {
  principal: { uid: string; name?: string; type: 'user' | 'service_account' }
  role: 'admin' | 'member' | 'viewer'
  key_id: string
  key_name?: string
  expires_at: string
}

export class SignInError extends Error {
  /** The message asks whether to sign in, and the link still works. */
  readonly is_question: boolean
  constructor(message: string, is_question = false) {
    super(message)
    this.is_question = is_question
  }
}

/** Who has signed in, or null. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Session | null> => {
    const answer = await ask('GET', 'web/session', { signal })
    if (answer.status === 401) return null
    if (!answer.ok) throw new Error(await detailOf(answer, 'The service does not answer as it should.'))
    return ((await answer.json()) as { session: Session }).session
  },
  staleTime: Number.POSITIVE_INFINITY,
  retry: 3,
})

/** With an API key, which is sent once and kept nowhere, or with the token of a link. Throws `SignInError`. */
export async function signIn(by: { key: string } | { token: string; confirm?: boolean }): Promise<Session> {
  const answer =
    'key' in by
      ? await ask('POST', 'web/session', { headers: { authorization: `Bearer ${by.key}` }, body: {} })
      : await ask('POST', 'web/session', { body: by })
  if (!answer.ok) throw new SignInError(await detailOf(answer, 'The key was refused.'), answer.status === 409)
  return ((await answer.json()) as { session: Session }).session
}

export async function signOut(): Promise<void> {
  const answer = await ask('DELETE', 'web/session')
  if (!answer.ok && answer.status !== 401) throw new Error(await detailOf(answer, 'Signing out failed.'))
  forgetComments()
}

/** Opens one run to whoever has its link, without a key. Throws `SignInError`. */
export async function openVisit(run_id: string, token: string): Promise<void> {
  const answer = await ask('POST', 'web/visits', { body: { run_id, token } })
  if (!answer.ok) throw new SignInError(await detailOf(answer, 'This link does not open the run any more.'))
}

/** Forgets what was read for somebody else. */
export function changeSession(queries: QueryClient, session: Session | null): void {
  const [own] = sessionQuery.queryKey
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== own })
  queries.setQueryData(sessionQuery.queryKey, session)
}

/** Asks one of the page's own addresses. Throws where the answer is no, with what the service said, or else `otherwise`. */
export async function askPage(
  method: string,
  path: string,
  { otherwise, ...request }: { otherwise: string; body?: unknown; signal?: AbortSignal },
): Promise<Response> {
  const answer = await ask(method, path, request)
  if (!answer.ok) throw new Error(await detailOf(answer, otherwise))
  return answer
}

async function ask(
  method: string,
  path: string,
  {
    body,
    headers = {},
    signal,
  }: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  const answer = await watchedFetch(new URL(path, BASE_URL), {
    method,
    cache: 'no-store',
    headers: {
      [PAGE_HEADER]: '1',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  }).catch(() => null)
  if (!answer) throw new SignInError('The service cannot be reached. Try again.')
  return answer
}

async function detailOf(answer: Response, otherwise: string): Promise<string> {
  const problem = (await answer.json().catch(() => null)) as { detail?: string } | null
  return problem?.detail ?? otherwise
}

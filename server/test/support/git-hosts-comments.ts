/** Comments of GitHub's API: on issues and pull requests, and replies to comments on code. As documented for version 2022-11-28. */
import type { Answer, GitHostRequest, GitHostState, HostedComment } from './hosted-repositories.ts'

const MISSING: Answer = { status: 404, body: { message: 'Not Found', status: '404' } }

/** `null`: it is about something else. */
export function answerComments(
  state: GitHostState,
  { path, rest, url, request }: { path: string; rest: string; url: URL; request: GitHostRequest },
): Answer | null {
  const describe = (comment: HostedComment) => ({
    ...comment,
    html_url: `${state.url}/${path}/${comment.kind === 'pulls' ? 'pull' : 'issues'}/${comment.number}#comment-${comment.id}`,
  })
  const bodyOf = (): string => (JSON.parse(request.body) as { body: string }).body
  const [, kind, one] = /^\/(issues|pulls)\/comments\/(\d+)$/.exec(rest) ?? []
  if (kind && request.method === 'PATCH') {
    const comment = state.comments.find(({ id }) => id === Number(one))
    if (!comment || comment.kind !== kind || comment.repository !== path) return MISSING
    comment.body = bodyOf()
    return { status: 200, body: describe(comment) }
  }
  const [, of, number, replied] = /^\/(issues|pulls)\/(\d+)\/comments(?:\/(\d+)\/replies)?$/.exec(rest) ?? []
  if (of !== 'issues' && of !== 'pulls') return null
  if (request.method === 'GET') {
    const { since = '', per_page = '30', page = '1' } = Object.fromEntries(url.searchParams)
    const found = state.comments.filter(
      (comment) => comment.repository === path && comment.kind === of && comment.number === Number(number),
    )
    const first = (Number(page) - 1) * Number(per_page)
    const shown = found.filter(({ created_at }) => created_at >= since).slice(first, first + Number(per_page))
    return { status: 200, body: shown.map(describe) }
  }
  if ((of === 'pulls') !== (replied !== undefined)) return MISSING
  const comment = addComment(state, {
    ...{ repository: path, number: Number(number), kind: of, body: bodyOf() },
    ...(replied ? { in_reply_to_id: Number(replied) } : {}),
  })
  return { status: 201, body: describe(comment) }
}

/** GitHub's times are cut to the second. */
export function addComment(
  { comments, now }: Pick<GitHostState, 'comments' | 'now'>,
  said: Omit<HostedComment, 'id' | 'created_at'>,
): HostedComment {
  const created_at = `${new Date(now()).toISOString().slice(0, 19)}Z`
  const comment = { id: 5_000_000_000 + comments.length, ...said, created_at }
  comments.push(comment)
  return comment
}

/** Does what a request to comment on an issue asks for, for tests in which nobody hears of it. */
export function commentUnheard(state: Pick<GitHostState, 'comments' | 'now'>, request: GitHostRequest): void {
  const [, repository = '', number] =
    /\/repos\/([^/]+\/[^/]+)\/issues\/(\d+)\/comments$/.exec(request.path) ?? []
  const { body } = JSON.parse(request.body) as { body: string }
  addComment(state, { repository, number: Number(number), kind: 'issues', body })
}

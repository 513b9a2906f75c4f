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
    const since = url.searchParams.get('since') ?? ''
    const found = state.comments.filter(
      (comment) => comment.repository === path && comment.kind === of && comment.number === Number(number),
    )
    return { status: 200, body: found.filter(({ created_at }) => created_at >= since).map(describe) }
  }
  if ((of === 'pulls') !== (replied !== undefined)) return MISSING
  const comment: HostedComment = {
    ...{ id: 5_000_000_000 + state.comments.length, repository: path, number: Number(number), kind: of },
    ...(replied ? { in_reply_to_id: Number(replied) } : {}),
    ...{ body: bodyOf(), created_at: new Date(state.now()).toISOString() },
  }
  state.comments.push(comment)
  return { status: 201, body: describe(comment) }
}

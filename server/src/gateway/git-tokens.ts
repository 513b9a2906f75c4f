import githubAppJwt from 'universal-github-app-jwt'
import type { CheckedFetch } from './checked-fetch.ts'
import type { GitCredential } from './gateway.ts'
import { type ApiAnswer, GitHostFailure, openGitHostApi, stringOf } from './git-host-api.ts'

/** An installation token is good for an hour; one that ends sooner than this is not handed out any more. */
const LEFT_MS = 5 * 60_000
/** The host's clock counts where it differs by more than this. GitHub takes 30 s without a word. */
const SKEW_MS = 15_000

interface InstallationToken {
  token: string
  /** Milliseconds of our clock. */
  expires_at: number
}

export interface GitTokens {
  /**
   * The token for one repository, by its path as in `acme/site`; an empty path: for all that the credential reaches. Throws
   * `GitHostFailure`.
   */
  tokenOf(credential: GitCredential, path: string): Promise<string>
}

export interface TokenOptions {
  now?: () => number
  /** The first pause before a request is tried again. */
  pause_ms?: number
  /** After so long nothing is tried again. */
  limit_ms?: number
  /** What tokens are asked for, until an App has as much. Default: what pushes and pull requests need. */
  wanted?: readonly Record<string, string>[]
}

/**
 * Makes installation tokens of GitHub Apps, each for one repository, and keeps them while they are good: with the very
 * credential they come from, so that nobody else's reaches them.
 */
export function openTokens(
  fetch: CheckedFetch,
  { now = Date.now, pause_ms, limit_ms, wanted }: TokenOptions = {},
): GitTokens {
  const kept = new WeakMap<GitCredential, Map<string, Promise<InstallationToken>>>()

  const ask = async (credential: GitCredential, path: string): Promise<InstallationToken> => {
    const { app, name, host } = credential
    const repository = path.split('/').at(-1) ?? ''
    let skew_ms = 0
    const post = async (permissions: Record<string, string>): Promise<ApiAnswer> => {
      const token = await signApp(credential, now() + skew_ms)
      const api = openGitHostApi({
        ...{ fetch, kind: 'github', host, token },
        ...(pause_ms === undefined ? {} : { pause_ms }),
        ...(limit_ms === undefined ? {} : { limit_ms }),
      })
      const url = `/app/installations/${encodeURIComponent(app?.installation_id ?? '')}/access_tokens`
      return api('POST', url, {
        body: { ...(repository ? { repositories: [repository] } : {}), permissions },
      })
    }
    for (const permissions of wanted ?? permissionsOf(credential)) {
      let answer = await post(permissions)
      const there = Date.parse(answer.headers.get('date') ?? '')
      if (answer.status === 401 && Math.abs(there - now()) > SKEW_MS) {
        skew_ms = there - now()
        answer = await post(permissions)
      }
      if (answer.status === 422 && isPermission(answer)) continue
      if (answer.status !== 201) throw explain(answer, credential, path)
      const token = stringOf(answer.data, 'token')
      const ends = Date.parse(stringOf(answer.data, 'expires_at') ?? '')
      if (!token || !isToken(token) || Number.isNaN(ends))
        throw new GitHostFailure('other', `${host} answered with something else than a token.`)
      return { token, expires_at: ends - skew_ms }
    }
    const lacking = wanted ? 'comments' : 'contents'
    const permission = wanted ? 'Issues” and “Pull requests' : 'Contents'
    throw new GitHostFailure(
      'refused',
      `The GitHub App of ${name} has no access to ${lacking}: give it the permission “${permission}” on ${host}.`,
    )
  }

  return {
    async tokenOf(credential, path) {
      if (!credential.app) return readToken(credential)
      const tokens = kept.get(credential) ?? new Map<string, Promise<InstallationToken>>()
      kept.set(credential, tokens)
      const key = path.toLowerCase()
      const known = tokens.get(key)
      const found = await known
      if (found && found.expires_at - now() > LEFT_MS) return found.token
      // Whoever waited beside us may have asked already.
      const current = tokens.get(key)
      const asking = current && current !== known ? current : ask(credential, path)
      tokens.set(key, asking)
      try {
        return (await asking).token
      } catch (error) {
        if (tokens.get(key) === asking) tokens.delete(key)
        throw error
      }
    },
  }
}

/** What is asked for, until the App has as much: an App that may not open pull requests can still push. */
const permissionsOf = ({ read_only }: GitCredential): Record<string, string>[] => [
  ...(read_only ? [] : [{ contents: 'write', pull_requests: 'write' }, { contents: 'write' }]),
  { contents: 'read' },
]

const isPermission = ({ data }: ApiAnswer): boolean => /permission/i.test(stringOf(data, 'message') ?? '')

/** Files of tokens end in a newline. What else a header does not take, no host takes for a token. */
function readToken({ name, secret }: GitCredential): string {
  const token = secret.trim()
  if (isToken(token)) return token
  throw new GitHostFailure(
    'refused',
    `${name} is no token: it is empty, or has spaces or signs that no token has.`,
  )
}

const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

async function signApp({ app, name, secret }: GitCredential, now_ms: number): Promise<string> {
  try {
    const { token } = await githubAppJwt({
      id: app?.app_id ?? '',
      privateKey: secret,
      now: Math.floor(now_ms / 1_000),
    })
    return token
  } catch {
    // Its message could hold some of the key.
    throw new GitHostFailure('refused', `${name} is no private key of a GitHub App: it must be its PEM file.`)
  }
}

function explain(answer: ApiAnswer, { app, name, host }: GitCredential, path: string): GitHostFailure {
  const { said } = answer
  const id = app?.installation_id
  switch (answer.status) {
    case 401:
      return new GitHostFailure(
        'refused',
        `${host} refused the key ${name} for the GitHub App ${app?.app_id}${said}.`,
      )
    case 403:
      return new GitHostFailure('refused', `${host} gives the GitHub App of ${name} no token${said}.`)
    case 404:
      return new GitHostFailure(
        'not_found',
        `The GitHub App of ${name} has no installation ${id} on ${host}.`,
      )
    case 422:
      return new GitHostFailure(
        'not_found',
        `The installation ${id} of the GitHub App of ${name} lacks access to ${path} on ${host}${said}.`,
      )
    default:
      return new GitHostFailure('other', `${host} answered ${answer.status} in place of a token${said}.`)
  }
}

import { addressOf } from './address.ts'
import { decodePercent } from './percent.ts'

/** Names under which hosts take ssh, or answer pages, and that of their https. */
const HOSTS: Readonly<Record<string, string>> = {
  'ssh.github.com': 'github.com',
  'www.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'www.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
  'www.bitbucket.org': 'bitbucket.org',
  'ssh.dev.azure.com': 'dev.azure.com',
}
const SSH =
  /^(?:ssh|git\+ssh|ssh\+git|git):\/\/(?:[^@:/?#]*@)?(\[[0-9a-f:]+\]|[^@:/?#[\]]+)(?::\d*)?\/+([^?#]+)$/i
/** As `scp` writes it: without a user the host has a dot, so that it is no scheme; what looks like a port is no path then. */
const SCP =
  /^(?:[^@:/]+@([a-z0-9_.-]+|\[[0-9a-f:]+\])|(?!.*:\d+(?:\/|$))([a-z0-9_-]+(?:\.[a-z0-9_-]+)+)):\/*([^:/?#][^?#]*)$/i
const SHORT = /^([a-z0-9][a-z0-9_-]*)\/(?!\.{1,2}$)([a-z0-9._-]+)$/i
const WITHOUT_SCHEME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+(:\d+)?\/[^/]+\/./i

/**
 * The https address that a person means by the address of a repository: `git@host:owner/repo.git`, `ssh://git@host/owner/repo`,
 * `host.org/owner/repo`, and `owner/repo` of GitHub. A port of ssh is none of https. Anything else stays as it is.
 */
export function toHttps(text: string): string {
  const ssh = SSH.exec(text)
  const scp = SCP.exec(text)
  const short = SHORT.exec(text)
  if (ssh) return compose(ssh[1] ?? '', ssh[2] ?? '')
  if (scp) return compose(scp[1] ?? scp[2] ?? '', scp[3] ?? '')
  if (short) return `https://github.com/${short[1]}/${short[2]}`
  return WITHOUT_SCHEME.test(text) ? `https://${text}` : text
}

/** Azure has a path of its own for ssh. */
const compose = (host: string, path: string): string =>
  `https://${host}/${path.replace(/^v3\/([^/]+)\/([^/]+)\/([^/]+)$/, (all, owner, project, name) =>
    host.toLowerCase() === 'ssh.dev.azure.com' ? `${owner}/${project}/_git/${name}` : all,
  )}`

/** The same repository under one address: the host that answers git, and no slash at the end. */
function settle(text: string): string {
  // Anything else that `URL` would read as such an address is refused, and so is one with a user.
  const url = /^https:\/\/[^/?#@]+(?:[/?#]|$)/i.test(text) ? URL.parse(text) : null
  if (!url) return text
  url.hostname = HOSTS[url.hostname] ?? url.hostname
  url.pathname = url.pathname.replace(/(?<=[^/])\/+$/, '')
  return url.href
}

/** Pages of hosts that people copy in place of the repository's address. */
const PAGE =
  /^https:\/\/(?:github\.com(?:\/[^/]+){2}\/(?:tree|blob|pull|pulls|issues|commit|commits|actions|releases|tags|branches)(?:\/|$)|[^?#]+\/-\/)/

export const RepositoryUrl = addressOf({
  schemes: ['https:'],
  error:
    'must be the https address of a repository, git@host:owner/repo, or owner/repo of GitHub; a folder of the worker’s machine is a local_path',
  open: true,
  rewrite: (text) => settle(toHttps(text)),
})
  .refine(
    (url) => !PAGE.test(url),
    'must be the address of the repository itself, not of one of its pages: a branch or commit goes into ref',
  )
  .meta({
    description:
      'Address of the repository by https. `git@host:owner/repo.git`, `ssh://git@host/owner/repo`, `host/owner/repo`, and `owner/repo` of GitHub mean that address, and it is what is kept.',
    examples: ['https://github.com/acme/site'],
  })

/** What names a repository somewhere: its host, if it names one, and `owner/repo` without `.git`. */
export function readRepositoryName(text: string): { host: string | null; path: string } {
  const is_short = SHORT.test(text)
  const url = is_short ? null : URL.parse(settle(toHttps(text)))
  const path = (url?.protocol === 'https:' ? decodePercent(url.pathname) : text).replace(/^\/+|\/+$/g, '')
  return { host: url?.protocol === 'https:' ? url.host : null, path: path.replace(/\.git$/, '') }
}

/** Whether somebody has taken a repository's address for a path of the machine. */
export const looksLikeAddress = (path: string): boolean =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(path) || /^[^@:/\s]+@[a-z0-9.-]+:/i.test(path)

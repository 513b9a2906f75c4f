/** As in `Pull request #12 of acme/shop`; undefined where the address is of no host that is known. */
export function namePullRequest(url: string): string | undefined {
  const path = URL.parse(url)?.pathname ?? ''
  const found = /^\/(.+?)\/(?:-\/)?(pulls?|merge_requests)\/(\d+)/.exec(path)
  if (!found) return undefined
  const [, repository, kind, number] = found
  return kind === 'merge_requests'
    ? `Merge request !${number} of ${repository}`
    : `Pull request #${number} of ${repository}`
}

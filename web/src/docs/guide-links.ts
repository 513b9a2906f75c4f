/** The anchor of a heading, as GitHub makes it: links between guides name it. */
export const slugOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')

/**
 * Where a link in a guide leads: to a guide by its path, perhaps to a heading of it; `null`: to something that is not shown here,
 * such as a file of the source code.
 */
export function resolveGuideLink(
  href: string,
  from: string,
  known: ReadonlySet<string>,
): { path: string; hash: string | undefined } | null {
  const target = URL.parse(href, `guide://docs/${from}.md`)
  if (target?.protocol !== 'guide:' || target.host !== 'docs') return null
  const path = decodeURIComponent(target.pathname).replace(/^\//, '').replace(/\.md$/, '')
  return known.has(path) ? { path, hash: target.hash.slice(1) || undefined } : null
}

import type { ReactNode } from 'react'

/**
 * A link to a page of somebody else, with its host shown; only its text where it is none of the web. The address comes from
 * agents and repositories.
 */
export function OutsideLink({ url, children }: { url: string; children?: ReactNode }) {
  const target = URL.parse(url)
  if (target?.protocol !== 'https:' && target?.protocol !== 'http:') return <span>{children ?? url}</span>
  const text = children ?? url
  const says_host = typeof text === 'string' && text.includes(target.host)
  return (
    <span>
      <a href={target.href} rel="noopener noreferrer" target="_blank">
        {text}
      </a>
      {says_host ? null : <span className="text-soft text-xs"> ({target.host})</span>}
    </span>
  )
}

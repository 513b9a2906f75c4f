import { Link } from '@tanstack/react-router'
import { type ReactNode, useMemo } from 'react'
import Markdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CopyBlock } from '../ui/copy-block.tsx'
import { OutsideLink } from '../ui/outside-link.tsx'
import { ScrollBox } from '../ui/scroll-box.tsx'
import { resolveGuideLink, slugOf } from './guide-links.ts'
import { GUIDES } from './guides.ts'

const REMARK = [remarkGfm]
const KNOWN: ReadonlySet<string> = new Set(GUIDES.map(({ path }) => path))

/** A guide's Markdown. It comes from this project, so unlike an agent's its links lead within the page, and headings can be linked to. */
export function GuideText({ path, text }: { path: string; text: string }) {
  const components = useMemo(() => componentsOf(path), [path])
  return (
    <div className="prose">
      <Markdown remarkPlugins={REMARK} components={components}>
        {text}
      </Markdown>
    </div>
  )
}

interface Node {
  value?: unknown
  children?: readonly unknown[]
}

const textOf = (node: Node | undefined): string =>
  typeof node?.value === 'string'
    ? node.value
    : (node?.children ?? []).map((child) => textOf(child as Node)).join('')

const Heading = ({
  level: Level,
  node,
  children,
}: {
  level: 'h2' | 'h3' | 'h4'
  node?: Node | undefined
  children?: ReactNode
}) => (
  <Level id={slugOf(textOf(node))} className="scroll-mt-4">
    {children}
  </Level>
)

function componentsOf(path: string): Components {
  return {
    // The first is the page's own; a guide may have several parts.
    h1: ({ node, children }) =>
      node?.position?.start.line === 1 ? null : (
        <Heading level="h2" node={node}>
          {children}
        </Heading>
      ),
    h2: (props) => <Heading level="h2" {...props} />,
    h3: (props) => <Heading level="h3" {...props} />,
    h4: (props) => <Heading level="h4" {...props} />,
    a: ({ href = '', children }) => (
      <GuideLink href={href} from={path}>
        {children}
      </GuideLink>
    ),
    img: ({ alt }) => <span className="text-soft">{alt}</span>,
    pre: ({ node }) => <CopyBlock text={textOf(node).replace(/\n$/, '')} />,
    // A corner of a table that says nothing heads nothing.
    th: ({ children }) => (children ? <th>{children}</th> : <td />),
    table: ({ children }) => (
      <ScrollBox className="table-frame" label="Table">
        <table>{children}</table>
      </ScrollBox>
    ),
  }
}

function GuideLink({ href, from, children }: { href: string; from: string; children: ReactNode }) {
  const target = resolveGuideLink(href, from, KNOWN)
  if (!target) return <OutsideLink url={href}>{children}</OutsideLink>
  return (
    <Link
      to="/docs/guides/$"
      params={{ _splat: target.path }}
      {...(target.hash ? { hash: target.hash } : {})}
    >
      {children}
    </Link>
  )
}

import { Component, memo, type ReactNode, useDeferredValue, useEffect, useMemo, useState } from 'react'
import Markdown, { type Components, type Options } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CheckMark } from '../ui/check-mark.tsx'
import { OutsideLink } from '../ui/outside-link.tsx'
import { ScrollBox, ScrollText } from '../ui/scroll-box.tsx'
import { BreakableText, isUnbroken } from './breakable-text.tsx'
import { isCostly } from './costly-markdown.ts'
import { plainText } from './plain-text.ts'

/** Characters that are set; what follows stands as it came, so that no message holds the page up. */
const MOST_SET = 48 * 1024
/** Lists and quotes within each other so deep that setting them takes too long, or more stack than there is. */
const DEEP = /^(?:[ \t>]|[-*+] |\d{1,9}[.)] ){60}/m

const REMARK = [remarkGfm]
type RehypePlugins = NonNullable<Options['rehypePlugins']>
const PLAIN_CODE: RehypePlugins = []
let highlighting: Promise<RehypePlugins> | undefined

/** Colours for code, fetched with the first block that names its language: they are as large as all the rest. */
function useHighlighting(is_needed: boolean): RehypePlugins {
  const [plugins, setPlugins] = useState(PLAIN_CODE)
  useEffect(() => {
    if (!is_needed) return
    // Languages are not guessed: it takes long, and is often wrong.
    highlighting ??= import('rehype-highlight').then((found) => [[found.default, { detect: false }]])
    // Without it code stays plain.
    highlighting.then(setPlugins, () => {})
  }, [is_needed])
  return plugins
}

const NAMED_FENCE = /^ *(?:```|~~~) *\w/m

const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href ? <OutsideLink url={href}>{children}</OutsideLink> : <span>{children}</span>,
  // Nothing is fetched from elsewhere because an agent says so.
  img: ({ src, alt }) => (
    <span className="text-soft">
      [image: {typeof src === 'string' && src ? <OutsideLink url={src}>{alt || src}</OutsideLink> : alt}]
    </span>
  ),
  // What an agent lists is no form: a box of one could be neither checked nor named.
  input: ({ checked }) => <CheckMark status={checked ? 'done' : 'pending'} />,
  // A block that scrolls is reached by keyboard.
  pre: ({ children }) => <ScrollText>{children}</ScrollText>,
  table: ({ children }) => (
    <ScrollBox className="table-frame" label="Table">
      <table>{children}</table>
    </ScrollBox>
  ),
}

/** Text of an agent or a person with its Markdown set. HTML in it stays text. */
export const Prose = memo(function Prose({
  text,
  is_growing = false,
}: {
  text: string
  is_growing?: boolean
}) {
  // Setting a long message takes longer than a frame: the newest words may wait, typing and scrolling may not.
  const settled = useDeferredValue(text)
  const plain = plainText(is_growing ? settled : text)
  const whole = <Plain text={plain} />
  const start = plain.slice(0, MOST_SET)
  const plugins = useHighlighting(!is_growing && NAMED_FENCE.test(start))
  const is_too_much = useMemo(() => DEEP.test(start) || isUnbroken(start) || isCostly(start), [start])
  if (is_too_much) return <div className="prose">{whole}</div>
  return (
    <div className="prose">
      <Fallback fallback={whole}>
        <Markdown remarkPlugins={REMARK} rehypePlugins={plugins} components={COMPONENTS}>
          {start}
        </Markdown>
        {plain.length > MOST_SET ? <Plain text={plain.slice(MOST_SET)} /> : null}
      </Fallback>
    </div>
  )
})

const Plain = ({ text }: { text: string }) => (
  <pre className="plain">
    <BreakableText text={text} />
  </pre>
)

/** Shows the text as it came where it cannot be set. */
class Fallback extends Component<{ children: ReactNode; fallback: ReactNode }, { has_failed: boolean }> {
  override state = { has_failed: false }
  static getDerivedStateFromError() {
    return { has_failed: true }
  }
  override render() {
    return this.state.has_failed ? this.props.fallback : this.props.children
  }
}

import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { ScrollText } from './scroll-box.tsx'

/** Text to take away: a command, a key, an address. */
export function CopyBlock({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [was_copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <div className="relative rounded-lg border border-line bg-sunken">
      <ScrollText className="max-h-96 py-2.5 pr-12 pl-3.5 text-sm leading-relaxed">{text}</ScrollText>
      <button
        type="button"
        aria-label={was_copied ? 'Copied' : label}
        className="absolute top-1 right-1 rounded-md p-2 text-soft hover:bg-ink/6 hover:text-ink"
        onClick={copy}
      >
        {was_copied ? <Check aria-hidden className="size-4" /> : <Copy aria-hidden className="size-4" />}
      </button>
    </div>
  )
}

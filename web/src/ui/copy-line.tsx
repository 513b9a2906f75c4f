import { Check, Copy } from 'lucide-react'
import { useState } from 'react'

/** A command in a line, which a click copies. */
export function CopyLine({ text, label }: { text: string; label: string }) {
  const [was_copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  const Icon = was_copied ? Check : Copy
  return (
    <button
      type="button"
      aria-label={was_copied ? `Copied: ${text}` : `${label}: ${text}`}
      className="inline-flex w-fit max-w-full items-center gap-2 rounded-md bg-sunken px-2.5 py-1 text-soft hover:text-ink"
      onClick={copy}
    >
      <code className="truncate text-xs">{text}</code>
      <Icon aria-hidden className="size-3.5 shrink-0" />
    </button>
  )
}

import { useState } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'
import { Button } from '../ui/button.tsx'
import type { LineComment } from './line-comments.ts'

/** Somebody has just asked for the field. */
const focusOn = (field: HTMLTextAreaElement | null): void => field?.focus()

/** A comment on a line, as it is kept, or the field to write it in. */
export function CommentField({
  label,
  comment,
  onText,
}: {
  label: string
  comment: LineComment | undefined
  /** Undefined takes it away, or leaves it. */
  onText: (text: string | undefined) => void
}) {
  const [text, setText] = useState('')
  if (comment)
    return (
      <p className="m-0 flex items-start gap-3 text-sm">
        <span className="min-w-0 flex-1 whitespace-pre-wrap wrap-anywhere" data-comment>
          <BreakableText text={comment.text} />
        </span>
        <button
          type="button"
          className="text-soft underline"
          aria-label={`Remove: ${label}`}
          onClick={() => onText(undefined)}
        >
          Remove
        </button>
      </p>
    )
  const said = text.trim()
  return (
    <div className="grid gap-2">
      <textarea
        ref={focusOn}
        aria-label={label}
        placeholder="What is to change here?"
        className="field-sizing-content min-h-9 w-full resize-none rounded-lg border border-line bg-raised px-3 py-1.5 text-sm"
        rows={1}
        maxLength={4000}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onText(undefined)
          if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey) || event.nativeEvent.isComposing)
            return
          event.preventDefault()
          if (said) onText(said)
        }}
      />
      <div className="flex gap-2">
        <Button disabled={!said} title="Ctrl + Enter" onClick={() => onText(said)}>
          Add comment
        </Button>
        <Button kind="quiet" onClick={() => onText(undefined)}>
          Cancel
        </Button>
      </div>
    </div>
  )
}

import { BreakableText } from '../text/breakable-text.tsx'
import { Button } from '../ui/button.tsx'
import type { LineComment } from './line-comments.ts'

/** A field that is still empty has just been asked for. */
const focusOnEmpty = (field: HTMLTextAreaElement | null): void => {
  if (field?.value === '') field.focus()
}

/** A comment on a line, or the field to write it in. */
export function CommentField({
  label,
  comment,
  onChange,
  onRemove,
}: {
  label: string
  comment: LineComment
  onChange: (comment: LineComment) => void
  onRemove: () => void
}) {
  if (!comment.is_draft)
    return (
      <p className="m-0 flex items-start gap-3 text-sm">
        <span className="min-w-0 flex-1 whitespace-pre-wrap wrap-anywhere" data-comment>
          <BreakableText text={comment.text} />
        </span>
        <button
          type="button"
          className="text-soft underline"
          aria-label={`Remove: ${label}`}
          onClick={onRemove}
        >
          Remove
        </button>
      </p>
    )
  const text = comment.text.trim()
  const add = () => {
    if (text) onChange({ ...comment, text, is_draft: false })
  }
  return (
    <div className="grid gap-2">
      <textarea
        ref={focusOnEmpty}
        aria-label={label}
        placeholder="What is to change here?"
        className="field-sizing-content min-h-9 w-full resize-none rounded-lg border border-line bg-raised px-3 py-1.5 text-sm"
        rows={1}
        maxLength={4000}
        value={comment.text}
        onChange={(event) => onChange({ ...comment, text: event.target.value })}
        onKeyDown={(event) => {
          // What was written goes by its button only.
          if (event.key === 'Escape' && !text) onRemove()
          if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey) || event.nativeEvent.isComposing)
            return
          event.preventDefault()
          add()
        }}
      />
      <div className="flex gap-2">
        <Button disabled={!text} title="Ctrl + Enter" onClick={add}>
          Add comment
        </Button>
        <Button kind="quiet" onClick={onRemove}>
          Cancel
        </Button>
      </div>
    </div>
  )
}

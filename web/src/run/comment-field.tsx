import { useLayoutEffect, useRef } from 'react'
import { BreakableText } from '../text/breakable-text.tsx'
import { Button } from '../ui/button.tsx'
import type { LineComment } from './line-comment.ts'
import { type CommentActions, keyOf, nameLine } from './line-comments.ts'

/** The comment whose field has the keyboard. A newer diff may draw that field at another place, where typing continues. */
let typed_in: string | undefined

/** Moves the keyboard to the line's own button, or to the composer if the line is not shown any more. */
const focusBeside = (within: HTMLElement): void => {
  const button = within.closest('tr')?.previousElementSibling?.querySelector('button')
  const next = button ?? document.getElementById('composer')
  next?.focus()
}

/** A comment on a line, or the field to write it in. */
export function CommentField({ comment, actions }: { comment: LineComment; actions: CommentActions }) {
  const label = `Comment on ${nameLine(comment.line)} of ${comment.path}`
  if (comment.is_draft) return <Draft label={label} comment={comment} actions={actions} />
  return (
    <p className="m-0 flex items-start gap-3 text-sm">
      <span className="min-w-0 flex-1 whitespace-pre-wrap wrap-anywhere" data-comment>
        <BreakableText text={comment.text} />
      </span>
      <button
        type="button"
        className="text-soft underline"
        aria-label={`Remove: ${label}`}
        onClick={(event) => {
          focusBeside(event.currentTarget)
          actions.remove([comment])
        }}
      >
        Remove
      </button>
    </p>
  )
}

function Draft({
  label,
  comment,
  actions,
}: {
  label: string
  comment: LineComment
  actions: CommentActions
}) {
  const field = useRef<HTMLTextAreaElement>(null)
  const key = keyOf(comment)
  useLayoutEffect(() => {
    const { current } = field
    // An empty field has just been asked for.
    if (!current || (current.value !== '' && key !== typed_in)) return
    current.focus()
    current.setSelectionRange(current.value.length, current.value.length)
  }, [key])
  const text = comment.text.trim()
  const add = (within: HTMLElement) => {
    if (!text) return
    focusBeside(within)
    actions.write({ ...comment, text, is_draft: false })
  }
  const remove = (within: HTMLElement) => {
    focusBeside(within)
    actions.remove([comment])
  }
  return (
    <div className="grid gap-2">
      <textarea
        ref={field}
        aria-label={label}
        placeholder="Write a comment"
        className="field-sizing-content min-h-9 w-full resize-none rounded-lg border border-line bg-raised px-3 py-1.5 text-sm"
        rows={1}
        maxLength={4000}
        value={comment.text}
        onFocus={() => {
          typed_in = key
        }}
        onBlur={() => {
          typed_in = undefined
        }}
        onChange={(event) => actions.write({ ...comment, text: event.target.value })}
        onKeyDown={(event) => {
          // What was written goes by its button only.
          if (event.key === 'Escape' && !text) remove(event.currentTarget)
          if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey) || event.nativeEvent.isComposing)
            return
          event.preventDefault()
          add(event.currentTarget)
        }}
      />
      <div className="flex gap-2">
        <Button disabled={!text} title="Ctrl + Enter" onClick={(event) => add(event.currentTarget)}>
          Add comment
        </Button>
        <Button kind="quiet" onClick={(event) => remove(event.currentTarget)}>
          Cancel
        </Button>
      </div>
    </div>
  )
}

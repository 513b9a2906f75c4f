import { Paperclip, X } from 'lucide-react'
import { useRef } from 'react'
import { formatBytes } from '../text/format.ts'
import { Button } from './button.tsx'
import { MOST_FILES } from './read-attachment.ts'

/** A button that adds files to those that a message carries. */
export function FileButton({
  files,
  onFiles,
  label,
}: {
  files: readonly File[]
  onFiles: (files: File[]) => void
  /** In words beside the sign; without, it is for readers of screens only. */
  label?: string
}) {
  const picker = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          onFiles(addFiles(files, currentTarget.files))
          currentTarget.value = ''
        }}
      />
      <Button
        kind={label ? 'plain' : 'quiet'}
        aria-label="Attach files"
        disabled={files.length >= MOST_FILES}
        onClick={() => picker.current?.click()}
      >
        <Paperclip aria-hidden className="size-4" />
        {label}
      </Button>
    </>
  )
}

/** The files of a message, each with a button that takes it away again. */
export function FileChips({ files, onFiles }: { files: readonly File[]; onFiles: (files: File[]) => void }) {
  if (files.length === 0) return null
  return (
    <ul className="m-0 flex list-none flex-wrap gap-1.5 p-0 text-sm">
      {files.map((file, index) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: two files may have one name.
          key={index}
          className="inline-flex items-center gap-1.5 rounded-full border border-line py-0.5 pr-1 pl-2.5"
        >
          <span className="max-w-48 truncate">{file.name}</span>
          <span className="text-soft">{formatBytes(file.size)}</span>
          <button
            type="button"
            aria-label={`Remove ${file.name}`}
            className="rounded-full p-1 text-soft hover:text-ink"
            onClick={() => onFiles(files.toSpliced(index, 1))}
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </li>
      ))}
    </ul>
  )
}

export const addFiles = (files: readonly File[], more: FileList | null): File[] =>
  [...files, ...(more ?? [])].slice(0, MOST_FILES)

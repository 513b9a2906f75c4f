import type { WorkspaceFileResponse } from '@runyard/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useAccess } from '../client.ts'
import { linkOf, readLinked, tooLarge } from '../file-link.ts'
import { FilePreview } from '../run/file-preview.tsx'
import { MOST_BYTES, type PreviewKind, previewOf, typeOfName } from '../run/preview-kind.ts'
import { formatBytes } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import { downloadFrom } from '../ui/save-file.ts'
import { fileQuery } from './file-queries.ts'

/** One file as a turn left it: a preview where that is possible, and the file itself to take away. */
export function FileView({ run_id, turn, path }: { run_id: string; turn: number; path: string }) {
  const { client } = useAccess()
  const { data: file, error } = useQuery(fileQuery(client, run_id, path, turn))
  const save = useMutation({
    mutationFn: async () => downloadFrom(linkOf(await client.files.retrieve(run_id, { path, turn }))),
  })
  if (error && !file) return <Problem error={error} />
  if (!file) return <p className="m-0 text-soft text-sm">Loading…</p>
  const kind = kindOf(file)
  return (
    <section aria-labelledby="file" className="grid gap-2">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 id="file" className="m-0 min-w-0 font-mono font-semibold text-sm wrap-anywhere">
          {plainText(path)}
        </h2>
        <span className="text-soft text-xs">
          {formatBytes(file.size_bytes)}
          {/[1357]/.test(file.mode) ? ', executable' : ''}
        </span>
        <Button kind="quiet" className="ml-auto" onClick={() => save.mutate()}>
          <Download aria-hidden className="size-4" />
          Download
        </Button>
      </header>
      {save.error ? <Problem error={save.error} /> : null}
      {kind ? (
        <FilePreview
          id={['run', run_id, 'file', turn, path]}
          name={plainText(file.name)}
          kind={kind}
          mime_type={typeOfName(file.name)}
          is_code
          read={(options) => readLinked(file, options)}
        />
      ) : (
        <p className="m-0 text-soft text-sm">{tooLarge(file.size_bytes, MOST_BYTES.text)}</p>
      )}
    </section>
  )
}

/** Names tell little in a workspace: whatever is not known otherwise may be a text. */
function kindOf({ name, size_bytes }: WorkspaceFileResponse): PreviewKind | undefined {
  const known = previewOf({ mime_type: typeOfName(name), filename: name, size_bytes })
  return known ?? (size_bytes <= MOST_BYTES.text ? 'text' : undefined)
}

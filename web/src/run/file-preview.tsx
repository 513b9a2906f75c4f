import { useQuery } from '@tanstack/react-query'
import type { ReadOptions } from '../file-link.ts'
import { lazyPage } from '../shell/lazy-page.tsx'
import { BreakableText } from '../text/breakable-text.tsx'
import { Prose } from '../text/markdown.tsx'
import { plainText } from '../text/plain-text.ts'
import { Problem } from '../ui/problem.tsx'
import { ScrollBox, ScrollText } from '../ui/scroll-box.tsx'
import { CodeText } from './code-text.tsx'
import { MOST_BYTES, type PreviewKind } from './preview-kind.ts'

export interface Previewed {
  /** Tells this file apart from all others. */
  id: readonly unknown[]
  name: string
  kind: PreviewKind
  /** A picture's type, where its bytes come without one. */
  mime_type?: string
  /** Text stands in the colours of its language, with numbers of lines. */
  is_code?: boolean
  read: (options: ReadOptions) => Promise<Response>
}

/** A file of the run as pictures or a text; it is read when somebody opens it. */
export const FilePreview = (file: Previewed) => (
  <div className="mt-1.5 mb-2 w-full basis-full" data-preview={file.kind}>
    {file.kind === 'pdf' ? <PdfPreview {...file} /> : <Shown {...file} />}
  </div>
)

/** What draws a PDF is large, so it comes with the first one. */
const PdfPages = lazyPage<'PdfPages', { data: ArrayBuffer; name: string }>(
  () => import('./pdf-pages.tsx'),
  'PdfPages',
  { is_part: true },
)

function PdfPreview({ id, name, read }: Previewed) {
  const { data, error } = useQuery({
    queryKey: [...id, 'pdf'],
    queryFn: async ({ signal }) => (await read({ signal, max_bytes: MOST_BYTES.pdf })).arrayBuffer(),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  })
  if (error && !data) return <Problem error={error} />
  if (!data) return <p className="m-0 text-soft">Loading…</p>
  return (
    <ScrollBox
      className="max-h-[70vh] overflow-y-auto rounded-lg border border-line bg-sunken p-3"
      label={`Preview of ${name}`}
    >
      <PdfPages data={data} name={name} />
    </ScrollBox>
  )
}

function Shown({ id, name, kind, mime_type, is_code = false, read }: Previewed) {
  const { data, error } = useQuery({
    queryKey: [...id, kind],
    queryFn: async ({ signal }) => {
      const answer = await read({ signal, max_bytes: MOST_BYTES[kind] })
      return kind === 'picture' ? readPicture(answer, mime_type) : readText(answer)
    },
    // A plan is written anew under the same id.
    staleTime: 5_000,
    gcTime: 60_000,
  })
  const label = `Preview of ${name}`
  return (
    <>
      {error ? <Problem error={error} /> : null}
      {data === undefined && !error ? <p className="m-0 text-soft">Loading…</p> : null}
      {data === undefined ? null : kind === 'picture' ? (
        <img
          src={data}
          alt={name}
          className="max-h-[70vh] max-w-full rounded-lg border border-line bg-raised"
        />
      ) : kind === 'markdown' ? (
        <ScrollBox
          className="max-h-[60vh] overflow-y-auto rounded-lg border border-line bg-raised px-4 py-3"
          label={label}
        >
          <Prose text={data} />
        </ScrollBox>
      ) : is_code ? (
        <CodeText text={data} name={name} label={label} />
      ) : (
        <ScrollText className="max-h-[60vh] rounded-lg border border-line bg-raised px-3.5 py-2.5 text-xs leading-relaxed">
          <BreakableText text={plainText(data)} />
        </ScrollText>
      )}
    </>
  )
}

async function readText(answer: Response): Promise<string> {
  const text = await answer.text()
  if (text.includes('\0')) throw new Error('This is not a text file. Download it instead.')
  return text
}

/** As a `data:` address, which the page may show wherever files are served from. */
async function readPicture(answer: Response, mime_type: string | undefined): Promise<string> {
  const blob = await answer.blob()
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error('The picture could not be read.'))
    reader.readAsDataURL(mime_type ? blob.slice(0, blob.size, mime_type) : blob)
  })
}

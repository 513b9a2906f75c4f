import type { Runyard } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { readArtifact } from '../artifact-link.ts'
import { useAccess } from '../client.ts'
import { lazyPage } from '../shell/lazy-page.tsx'
import { BreakableText } from '../text/breakable-text.tsx'
import { Prose } from '../text/markdown.tsx'
import { plainText } from '../text/plain-text.ts'
import { Problem } from '../ui/problem.tsx'
import { ScrollBox, ScrollText } from '../ui/scroll-box.tsx'
import { MOST_BYTES, type PreviewKind } from './preview-kind.ts'

type ReadOptions = Parameters<typeof readArtifact>[2]

interface Previewed {
  uid: string
  name: string
  kind: PreviewKind
}

/** A file of the run as pictures or a text; it is read when somebody opens it. */
export const ArtifactPreview = ({ uid, name, kind }: Previewed) => (
  <div className="mt-1.5 mb-2 w-full basis-full" data-preview={kind}>
    {kind === 'pdf' ? <PdfPreview uid={uid} name={name} /> : <Shown uid={uid} name={name} kind={kind} />}
  </div>
)

/** What draws a PDF is large, so it comes with the first one. */
const PdfPages = lazyPage<'PdfPages', { data: ArrayBuffer; name: string }>(
  () => import('./pdf-pages.tsx'),
  'PdfPages',
  { is_part: true },
)

function PdfPreview({ uid, name }: Omit<Previewed, 'kind'>) {
  const { client } = useAccess()
  const { data, error } = useQuery({
    queryKey: ['artifact', uid, 'pdf'],
    queryFn: async ({ signal }) =>
      (await readArtifact(client, uid, { signal, max_bytes: MOST_BYTES.pdf })).arrayBuffer(),
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

function Shown({ uid, name, kind }: Previewed) {
  const { client } = useAccess()
  const { data, error } = useQuery({
    queryKey: ['artifact', uid, kind],
    queryFn: ({ signal }) => {
      const read = kind === 'picture' ? readPicture : readText
      return read(client, uid, { signal, max_bytes: MOST_BYTES[kind] })
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
      ) : (
        <ScrollText className="max-h-[60vh] rounded-lg border border-line bg-raised px-3.5 py-2.5 text-xs leading-relaxed">
          <BreakableText text={plainText(data)} />
        </ScrollText>
      )}
    </>
  )
}

const readText = async (client: Runyard, uid: string, options: ReadOptions): Promise<string> =>
  (await readArtifact(client, uid, options)).text()

/** As a `data:` address, which the page may show wherever files are served from. */
async function readPicture(client: Runyard, uid: string, options: ReadOptions): Promise<string> {
  const blob = await (await readArtifact(client, uid, options)).blob()
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error('The picture could not be read.'))
    reader.readAsDataURL(blob)
  })
}

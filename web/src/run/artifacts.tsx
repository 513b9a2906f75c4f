import type { ArtifactItem } from '@runyard/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { linkToArtifact, readArtifact } from '../artifact-link.ts'
import { useAccess } from '../client.ts'
import { formatBytes } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { OutsideLink } from '../ui/outside-link.tsx'
import { Problem } from '../ui/problem.tsx'
import { downloadFrom } from '../ui/save-file.ts'
import { FilePreview } from './file-preview.tsx'
import { type PreviewKind, previewOf } from './preview-kind.ts'

/** What the run kept or named beside its changes: files, pictures, its plan, pages elsewhere. */
export function Artifacts({ artifacts }: { artifacts: readonly ArtifactItem[] }) {
  // The changes and pull requests have a place of their own.
  const shown = artifacts.filter(
    ({ artifact_type, data }) =>
      !(artifact_type === 'PULL_REQUEST' || (artifact_type === 'FILE' && data.diff)),
  )
  if (shown.length === 0) return null
  return (
    <section aria-label="Artifacts">
      <h2 className="m-0 mb-1.5 font-semibold text-base">Artifacts</h2>
      <ul className="m-0 grid list-none gap-1.5 p-0 text-sm">
        {shown.map((artifact, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: references have no id, and the list only grows.
          <li key={index} className="flex min-w-0 flex-wrap items-baseline justify-between gap-x-3">
            <ArtifactLine artifact={artifact} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function ArtifactLine({ artifact }: { artifact: ArtifactItem }) {
  switch (artifact.artifact_type) {
    case 'PULL_REQUEST':
      return null
    case 'EXTERNAL_REFERENCE': {
      const { url, title, reference_type } = artifact.data
      return (
        <>
          <OutsideLink url={url}>{plainText(title ?? url)}</OutsideLink>
          <span className="shrink-0 text-soft text-xs">
            {reference_type.toLowerCase().replaceAll('_', ' ')}
          </span>
        </>
      )
    }
    case 'PLAN': {
      const uid = artifact.data.artifact_uid
      const name = plainText(artifact.data.title ?? 'Plan')
      return uid ? <Kept uid={uid} name={name} more="plan" preview="markdown" /> : <span>{name}</span>
    }
    case 'SCREENSHOT':
      return (
        <Kept
          uid={artifact.data.artifact_uid}
          name={plainText(artifact.data.title ?? 'Screenshot')}
          more="picture"
          preview={previewOf({ mime_type: artifact.data.mime_type, filename: '' })}
        />
      )
    default: {
      const { artifact_uid, filename, size_bytes } = artifact.data
      return (
        <Kept
          uid={artifact_uid}
          name={plainText(filename)}
          more={formatBytes(size_bytes)}
          preview={previewOf(artifact.data)}
        />
      )
    }
  }
}

/** A file that the service keeps; its link is asked for when it is wanted, since it lasts 15 minutes. */
function Kept({
  uid,
  name,
  more,
  preview,
}: {
  uid: string
  name: string
  more: string
  preview: PreviewKind | undefined
}) {
  const [is_open, setOpen] = useState(false)
  const { client } = useAccess()
  const save = useMutation({ mutationFn: async () => downloadFrom(await linkToArtifact(client, uid)) })
  return (
    <>
      <button
        type="button"
        className="min-w-0 flex-1 truncate text-left text-accent underline"
        onClick={() => save.mutate()}
      >
        {name}
      </button>
      <span className="flex shrink-0 items-baseline gap-3 text-soft text-xs">
        {more}
        {preview ? (
          <button
            type="button"
            aria-expanded={is_open}
            className="min-h-6 text-accent"
            onClick={() => setOpen(!is_open)}
          >
            {is_open ? 'Hide' : 'Preview'}
            <span className="unseen"> {name}</span>
          </button>
        ) : null}
      </span>
      {save.error ? (
        <div className="basis-full">
          <Problem error={save.error} />
        </div>
      ) : null}
      {preview && is_open ? (
        <FilePreview
          id={['artifact', uid]}
          name={name}
          kind={preview}
          read={(options) => readArtifact(client, uid, options)}
        />
      ) : null}
    </>
  )
}

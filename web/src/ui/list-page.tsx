import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import type { ReactNode } from 'react'
import { useAccess } from '../client.ts'
import { buttonClass } from './button.tsx'
import { CopyBlock } from './copy-block.tsx'
import { KINDS, type ListedKind } from './kinds.ts'
import { PageHead } from './page-head.tsx'
import { PagedRows, type usePages } from './paged-rows.tsx'

/** All of a kind, a page at a time, with the way to a new one; while there is none, what one is good for. */
export function ListPage<Item>({
  kind,
  pages,
  about,
  sample,
  children,
}: {
  kind: ListedKind
  pages: ReturnType<typeof usePages<Item>>
  /** What one does, in a sentence that begins with "One". */
  about: string
  /** The command that makes one. */
  sample: string
  children: (item: Item) => ReactNode
}) {
  const { may_write } = useAccess()
  const { title, add } = KINDS[kind]
  return (
    <>
      <PageHead title={title}>
        {may_write ? (
          <Link to={add} className={buttonClass()}>
            <Plus aria-hidden className="size-4" />
            New {kind}
          </Link>
        ) : null}
      </PageHead>
      <PagedRows
        pages={pages}
        label={title}
        more={`More ${title.toLowerCase()}`}
        empty={
          <div className="max-w-2xl">
            <p className="text-soft">
              No {kind} yet. {about}
            </p>
            <CopyBlock text={sample} />
          </div>
        }
      >
        {children}
      </PagedRows>
    </>
  )
}

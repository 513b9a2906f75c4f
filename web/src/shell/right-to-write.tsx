import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useAccess } from '../client.ts'
import { PageHead } from '../ui/page-head.tsx'
import { MAKERS } from './places.ts'

/** Spares those who may only read a form that would be refused at its end. */
export function RightToWrite({ children }: { children: ReactNode }) {
  const { may_write } = useAccess()
  const path = useLocation({ select: ({ pathname }) => pathname })
  const maker = MAKERS.find(({ to }) => to === path)
  if (may_write || !maker) return children
  return (
    <>
      <PageHead title={maker.label} />
      <p className="m-0">
        A key with the role viewer may only read. An admin can make you one that may write.
      </p>
      <p>
        <Link to="/">All runs</Link>
      </p>
    </>
  )
}

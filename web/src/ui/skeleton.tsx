import type { ReactNode } from 'react'

/**
 * The shape of what is being read, as high as that will be, so that nothing jumps when it is there. It comes after a moment only:
 * most answers are quicker, and what flashes disturbs.
 */
export const Skeleton = ({ children }: { children: ReactNode }) => (
  <div role="status" data-skeleton>
    <span className="unseen">Loading…</span>
    <div aria-hidden className="skeleton">
      {children}
    </div>
  </div>
)

/** In place of a word, a line, a picture: `className` gives its size. */
export const Bar = ({ className }: { className: string }) => (
  <span className={`block rounded-md bg-ink/8 ${className}`} />
)

/** In place of a list's rows. Their widths differ, as those of rows do. */
export const SkeletonRows = ({ rows = 6, look = 'min-h-14' }: { rows?: number; look?: string }) => (
  <Skeleton>
    <div className="border-line border-t">
      {Array.from({ length: rows }, (_, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: they are alike and stay.
          key={index}
          className={`flex items-center gap-4 border-line border-b ${look}`}
        >
          <Bar className="h-4 w-20 shrink-0" />
          <Bar className={`h-4 ${WIDTHS[index % WIDTHS.length]}`} />
          <Bar className="ml-auto h-4 w-16 shrink-0 max-sm:hidden" />
        </div>
      ))}
    </div>
  </Skeleton>
)

const WIDTHS = ['w-2/5', 'w-1/2', 'w-1/3', 'w-3/5'] as const

import { Ellipsis } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { ComponentProps, ReactNode } from 'react'
import { buttonClass } from './button.tsx'

/** What there is to do beside what a narrow screen has room for. */
export function OverflowMenu({ label, children }: { label: string; children: ReactNode }) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger className={buttonClass()} aria-label={label}>
        <Ellipsis aria-hidden className="size-4" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={6}
          className="z-20 min-w-44 rounded-xl border border-line bg-raised p-1.5 shadow-lg"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

/** `look`: further classes. */
export const OverflowItem = ({
  look = '',
  ...props
}: Omit<ComponentProps<typeof DropdownMenu.Item>, 'className'> & { look?: string }) => (
  <DropdownMenu.Item
    className={`flex w-full cursor-pointer items-center gap-2 rounded-md px-3 py-2 text-left text-ink text-sm no-underline outline-none data-disabled:cursor-default data-disabled:text-soft data-highlighted:bg-ink/6 ${look}`}
    {...props}
  />
)

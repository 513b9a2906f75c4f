import { AlertDialog } from 'radix-ui'
import type { ReactNode } from 'react'
import { Button, type ButtonKind, buttonClass } from './button.tsx'

/** A button that asks before it does what cannot be taken back. */
export function ConfirmButton({
  kind = 'danger',
  deed = 'danger',
  question,
  confirm,
  is_busy = false,
  onConfirm,
  children,
}: {
  kind?: ButtonKind
  /** How the button of the question looks. */
  deed?: ButtonKind
  question: string
  /** What the button of the question says: the deed, not "OK". */
  confirm: string
  is_busy?: boolean
  onConfirm: () => void
  children: ReactNode
}) {
  return (
    <AlertDialog.Root>
      <AlertDialog.Trigger asChild>
        <Button kind={kind} disabled={is_busy}>
          {children}
        </Button>
      </AlertDialog.Trigger>
      <Question deed={deed} question={question} confirm={confirm} onConfirm={onConfirm} />
    </AlertDialog.Root>
  )
}

/** The same question where something else than a button asks for it, such as an item of a menu. */
export const ConfirmDialog = ({
  is_open,
  onOpen,
  ...said
}: Omit<QuestionProps, 'deed'> & { is_open: boolean; onOpen: (is_open: boolean) => void }) => (
  <AlertDialog.Root open={is_open} onOpenChange={onOpen}>
    <Question deed="danger" {...said} />
  </AlertDialog.Root>
)

interface QuestionProps {
  deed: ButtonKind
  question: string
  confirm: string
  /** What the button says that does nothing. Beside "Cancel the run", "Cancel" could be either. */
  dismiss?: string
  onConfirm: () => void
}

const Question = ({
  deed,
  question,
  confirm,
  dismiss = confirm.startsWith('Cancel') ? 'Keep running' : 'Cancel',
  onConfirm,
}: QuestionProps) => (
  <AlertDialog.Portal>
    <AlertDialog.Overlay className="fixed inset-0 z-20 bg-scrim" />
    <AlertDialog.Content className="-translate-x-1/2 -translate-y-1/2 fixed top-1/2 left-1/2 z-20 w-[min(26rem,calc(100vw-2rem))] rounded-2xl border border-line bg-raised p-5 shadow-xl">
      <AlertDialog.Title className="m-0 font-semibold text-base">{confirm}?</AlertDialog.Title>
      <AlertDialog.Description className="mt-2 mb-0 text-sm text-soft">{question}</AlertDialog.Description>
      <div className="mt-5 flex justify-end gap-2">
        <AlertDialog.Cancel className={buttonClass()}>{dismiss}</AlertDialog.Cancel>
        <AlertDialog.Action className={buttonClass(deed)} onClick={onConfirm}>
          {confirm}
        </AlertDialog.Action>
      </div>
    </AlertDialog.Content>
  </AlertDialog.Portal>
)

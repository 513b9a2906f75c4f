import type { Blobs } from '../blobs/blobs.ts'
import type { Inbox, UserMessage } from '../harness/harness.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Db } from '../store/db.ts'
import { readLogPages } from '../store/events.ts'
import { deliverFollowups } from '../store/followups.ts'
import type { Lease } from '../store/leases.ts'
import { LeaseLost, retrying } from './lease-lost.ts'
import { writeAttachments } from './write-attachments.ts'

export interface RunInbox extends Inbox {
  /** Says that something waits. */
  signalWaiting(): void
  writeAttachments(): Promise<void>
}

/** Delivers follow-ups from the store to a harness, and their files to its workspace. */
export function createInbox(options: {
  db: Db
  lease: Lease
  /** Sequence up to which the harness knows the log. */
  since: number
  signal: AbortSignal
  onDelivered: () => void
  /** An interrupt waits: what is under way is to be stopped, and nothing is delivered before. */
  onInterrupt: (sequence: number) => void
  /** Called at each step boundary, before anything is delivered: the place to stop the run. */
  onBoundary?: () => void
  sandbox: () => Sandbox | null
  blobs: Blobs
}): RunInbox {
  const { db, lease, signal } = options
  let something = Promise.withResolvers<void>()

  const write = async (): Promise<void> => {
    const sandbox = options.sandbox()
    if (sandbox) await writeAttachments({ db, blobs: options.blobs, lease, sandbox }, signal)
  }

  let since = options.since
  /** Delivered by a statement whose answer was not heard: they are in the log, so they are read from there. */
  const readDelivered = async (): Promise<UserMessage[]> => {
    const messages: UserMessage[] = []
    for await (const events of readLogPages(db, lease.run_id, since))
      messages.push(...events.filter((event) => event.type === 'message.user'))
    return messages
  }

  return {
    writeAttachments: write,
    waiting: () => something.promise,
    signalWaiting: () => something.resolve(),
    async take() {
      options.onBoundary?.()
      if (signal.aborted) throw new LeaseLost()
      something = Promise.withResolvers()
      let tries = 0
      const messages = await retrying(async () => {
        tries += 1
        const delivery = await deliverFollowups(db, lease)
        if (delivery === 'lost') throw new LeaseLost()
        if ('messages' in delivery && tries === 1) return delivery.messages
        if ('interrupt' in delivery) options.onInterrupt(delivery.interrupt)
        return tries > 1 ? readDelivered() : []
      }, signal)
      since = messages.at(-1)?.sequence ?? since
      if (messages.length > 0) options.onDelivered()
      if (messages.some((message) => message.data.attachments?.length)) await write()
      return messages
    },
  }
}

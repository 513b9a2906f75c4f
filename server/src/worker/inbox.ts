import type { Blobs } from '../blobs/blobs.ts'
import type { Inbox } from '../harness/harness.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { FencedStore } from './fenced-store.ts'
import { LeaseLost } from './lease-lost.ts'
import { writeAttachments } from './write-attachments.ts'

export interface RunInbox extends Inbox {
  /** Says that something waits. */
  signalWaiting(): void
  writeAttachments(): Promise<void>
}

/** Delivers follow-ups from the store to a harness, and their files to its workspace. */
export function createInbox(
  store: FencedStore,
  options: {
    /** Sequence up to which the harness knows the log. */
    since: number
    onDelivered: () => void
    /** An interrupt waits: what is under way is to be stopped, and nothing is delivered before. */
    onInterrupt: (sequence: number) => void
    /** Called at each step boundary, before anything is delivered: the place to stop the run. */
    onBoundary?: () => Promise<void>
    sandbox: () => Sandbox | null
    blobs: Blobs
  },
): RunInbox {
  let something = Promise.withResolvers<void>()
  let signalled = false

  const write = async (): Promise<void> => {
    const sandbox = options.sandbox()
    if (sandbox) await writeAttachments(store, { blobs: options.blobs, sandbox })
  }

  let since = options.since
  return {
    writeAttachments: write,
    waiting: () => something.promise,
    signalWaiting() {
      signalled = true
      something.resolve()
    },
    async take() {
      await options.onBoundary?.()
      if (store.writing.aborted) throw new LeaseLost()
      if (!signalled && store.sawNothingWaiting()) return []
      signalled = false
      something = Promise.withResolvers()
      const { messages, interrupt } = await store.deliverFollowups(since)
      if (interrupt !== null) options.onInterrupt(interrupt)
      since = messages.at(-1)?.sequence ?? since
      if (messages.length > 0) options.onDelivered()
      if (messages.some((message) => message.data.attachments?.length)) await write()
      return messages
    },
  }
}

import { BlobsUnavailable } from '../blobs/blobs.ts'
import { AppError } from '../contract/error.ts'
import type { EventData } from '../contract/event.ts'
import { findLostCalls } from '../log/lost-calls.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { SnapshotRow } from '../store/snapshots.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { UnusableArchive, unpackWorkspace } from './workspace-archive.ts'

/** Calls that are named, and characters of each name. */
const NAMED = 10
const NAME_CHARACTERS = 100

type Told = Pick<EventData<'setup'>, 'name' | 'workspace'>

/**
 * Unpacks a snapshot into a new sandbox. `unusable`: why that cannot be, and the sandbox is of no use any more. Throws
 * `resource_unavailable` while the storage is away: what is kept there is not to be given up for that.
 */
export async function restoreWorkspace(
  { plane: { blobs }, log }: Pick<WorkerContext, 'plane' | 'log'>,
  store: FencedStore,
  { sandbox, snapshot, signal }: { sandbox: Sandbox; snapshot: SnapshotRow; signal: AbortSignal },
): Promise<{ told: Told } | { unusable: string }> {
  try {
    // It takes what it took when it was stored, and no more.
    const files = { get: (key: string) => store.passing(() => blobs.get(key)) }
    await unpackWorkspace(sandbox, files, snapshot, { limits: snapshot, signal })
  } catch (error) {
    if (error instanceof BlobsUnavailable)
      throw new AppError(
        'resource_unavailable',
        `The workspace is kept and cannot be read. ${error.message}`,
        { cause: error },
      )
    if (!(error instanceof UnusableArchive)) throw error
    log.error({ err: error, ...store.lease, snapshot_id: snapshot.snapshot_id }, 'A snapshot is of no use.')
    return { unusable: error.message }
  }
  const { turn, sequence } = snapshot
  const taken_at = snapshot.created_at.toISOString()
  const lost = findLostCalls(await store.readHistory(), sequence)
  // Of before the first execution: another run left it.
  if (snapshot.execution === 0) {
    const note = [
      `You are in a workspace of your own: the files are as an earlier run left them at the end of its turn ${turn}.`,
      'Processes that ran there are not here, nor files outside of the workspace and the home directory.',
      ...(lost.length > 0 ? [nameCalls(lost)] : []),
    ].join(' ')
    const name = `the workspace of turn ${turn} of the run that this one is a fork of`
    return { told: { name, workspace: { kept_at: taken_at, turn, calls_after: lost.length, note } } }
  }
  const name = `the workspace of turn ${turn} as it was kept at ${taken_at}; ${countCalls(lost.length)} came after that`
  const note = [
    `You are on another machine: the workspace is as it was kept at ${taken_at}.`,
    'Processes that ran are gone, and files outside of the workspace and the home directory.',
    ...(lost.length > 0 ? [nameCalls(lost)] : []),
  ].join(' ')
  return { told: { name, workspace: { kept_at: taken_at, turn, calls_after: lost.length, note } } }
}

/** What is said of a workspace that begins anew although there was one. `why` goes on from "the snapshot of it". */
export async function tellFresh(store: FencedStore, why: string | null): Promise<Told> {
  const lost = findLostCalls(await store.readHistory(), 0)
  const reason = why ? `, and the snapshot of it ${why}` : ', and nothing of it was kept'
  const name = `a fresh workspace: the earlier one is not on this machine any more${reason}`
  const note = [`This is ${name}.`, ...(lost.length > 0 ? [nameCalls(lost)] : [])].join(' ')
  return { name, workspace: { calls_after: lost.length, note } }
}

const countCalls = (calls: number): string => (calls === 1 ? '1 tool call' : `${calls} tool calls`)

function nameCalls(calls: ReadonlyArray<EventData<'tool.call'>>): string {
  const names = calls.slice(-NAMED).map(({ name, title = name }) => {
    const line = title.replace(/\s+/g, ' ')
    return `"${line.length > NAME_CHARACTERS ? `${line.slice(0, NAME_CHARACTERS)}…` : line}"`
  })
  const last = calls.length > NAMED ? `, the last of them ${names.join(', ')}` : `: ${names.join(', ')}`
  return `What was changed in files by ${countCalls(calls.length)} is lost or not whole${last}. Look before you rely on it.`
}

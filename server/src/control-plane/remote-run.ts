import type { Lease } from '../store/leases.ts'
import type { HeldRun } from '../worker/held-run.ts'
import type { Ask } from './remote-calls.ts'
import type { RunVerb } from './run-verbs.ts'

/** Verbs that are sent as they are called. */
const PLAIN = [
  ...['readHistory', 'readMessagesSince', 'readAskedModel', 'release'],
  ...['appendEvents', 'writeOpenMessages', 'deliverFollowups', 'acknowledgeInterrupt', 'writeHarnessState'],
  ...['readSandbox', 'recordSandbox', 'findSnapshot', 'readMoment', 'insertSnapshot', 'confirmSnapshot'],
  ...['removeOlderSnapshots', 'recordTurnEnd', 'readAwaitedAttachments', 'markAttachmentWritten'],
  ...['readKeptBytes', 'readArtifactHashes', 'insertArtifact', 'findArtifactOf', 'countArtifacts', 'putPlan'],
  ...['readReferenceUrls', 'recordReference', 'findDiff', 'readTurn', 'insertDiff', 'readPushes'],
  ...['findPushedPulls', 'takePullTurn', 'endPullTurn', 'recordPush'],
] as const satisfies readonly RunVerb[]
type Plain = (typeof PLAIN)[number]

/** One lease's verbs over HTTPS. What a run names is sent by no worker: the control plane looks it up in the run. */
export function holdRemotely(ask: Ask, lease: Lease): HeldRun {
  const { run_id, attempt } = lease
  const call =
    (verb: RunVerb) =>
    (...args: readonly unknown[]): Promise<never> =>
      ask(`runs/${run_id}/${attempt}/${verb}`, { args: args.map((value) => value ?? null) })
  const plain = Object.fromEntries(PLAIN.map((verb) => [verb, call(verb)])) as Record<
    Plain,
    ReturnType<typeof call>
  >
  return {
    ...plain,
    lease,
    start: (resolved, sandbox) => call('start')(resolved, sandbox),
    finish: (ending, turn_end) => call('finish')(ending, turn_end),
    readRun: async () => (await call('readRun')()) ?? undefined,
    readContext: () => call('readContext')(),
    openValues: () => call('openValues')(),
    findEnvironment: () => call('findEnvironment')(),
    useSecrets: (names) => call('useSecrets')(names),
    markSetup: (_uid, failed) => call('markSetup')(failed),
    recordSkills: ({ uid, last_updated }, found) => call('recordSkills')({ uid, last_updated }, found),
    requeue: (reason, counted) => call('requeue')(reason, counted),
    findRun: (id) => call('findRun')(id),
    listChildren: (_run, most) => call('listChildren')(most),
    readLastMessage: (id) => call('readLastMessage')(id),
    hasOtherWorker: () => call('hasOtherWorker')(),
    // Others could put something else under the key of a setup, so what setups leave is not shared over HTTPS.
    usePreparedWorkspace: async () => null,
    insertPreparedWorkspace: async ({ blob_key }) => [blob_key],
    deletePreparedWorkspace: async () => {},
    // The control plane does so itself with each write.
    touch() {},
  }
}

/** One lease's verbs as they are served to workers that only dial out. */
import { z } from 'zod'
import { isBlobKey } from '../blobs/blob-key.ts'
import { AppError } from '../contract/error.ts'
import { isWorking } from '../contract/state.ts'
import type { Db } from '../store/db.ts'
import { isHeld, type Lease } from '../store/leases.ts'
import type { RunRow } from '../store/runs.ts'
import { mayUseSandbox, type NewSandbox } from '../store/sandboxes.ts'
import type { SpawnRun } from '../worker/control-plane.ts'
import type { HeldRun } from '../worker/held-run.ts'
import { placeOutOf } from './pool-places.ts'
import type { StoredRun } from './stored-run.ts'
import * as shape from './verb-shapes.ts'

/** A worker as its token says. */
export interface RemoteWorker {
  worker_id: string
  pool: string
  /** The place of its registration: no sandbox of its runs is anywhere else. */
  place: string
}

export interface RunCall {
  db: Db
  worker: RemoteWorker
  held: StoredRun
  spawnRun: SpawnRun | undefined
}

/** The answer if the run is not this attempt's any more. */
export const LOST = Symbol('lost')

export interface Verb {
  args: z.ZodType
  serve(call: RunCall, args: never): Promise<unknown>
}

const verb = <A extends unknown[]>(
  args: z.ZodType<A>,
  serve: (call: RunCall, args: A) => Promise<unknown>,
) => ({
  args,
  serve,
})

/** Fenced by its statement. */
const write = <A extends unknown[]>(
  args: z.ZodType<A>,
  act: (held: StoredRun, args: A) => Promise<unknown>,
) =>
  verb(args, async ({ held }, given) => {
    const value = await act(held, given)
    held.touch()
    return value
  })

/** Only of a run that is held. */
const read = <A extends unknown[]>(args: z.ZodType<A>, ask: (held: StoredRun, args: A) => Promise<unknown>) =>
  verb(args, async ({ db, held }, given) => ((await isHeld(db, held.lease)) ? ask(held, given) : LOST))

/** The same, where the run itself says what may be asked. */
const readOf = <A extends unknown[]>(
  args: z.ZodType<A>,
  ask: (call: RunCall & { run: RunRow }, args: A) => Promise<unknown>,
) =>
  verb(args, async (call, given) => {
    const run = await call.held.readRun()
    return run && holds(run, call.held.lease) ? ask({ ...call, run }, given) : LOST
  })

/** The same, only while its worker is at it: what a run is given to work with is none of one that was cancelled. */
const readAtWork = <A extends unknown[]>(
  args: z.ZodType<A>,
  ask: (call: RunCall & { run: RunRow }, args: A) => Promise<unknown>,
) =>
  readOf(args, async (call, given) =>
    isWorking(call.run.state) || call.run.debug === 'working' ? ask(call, given) : LOST,
  )

const holds = (run: RunRow, { worker_id, attempt }: Lease): boolean =>
  run.worker_id === worker_id && run.attempt === attempt

const none = z.tuple([])
const { Small, Id, Name, Names, Sentence } = shape
const Optional = <T>(of: z.ZodType<T>) => of.nullable().transform((value) => value ?? undefined)

export const RUN_VERBS = {
  readRun: readOf(none, async ({ run }) => ({ ...run, sealed: null })),
  readContext: readOf(none, ({ held, run }) => held.readContext(run)),
  readHistory: read(none, (held) => held.readHistory()),
  readMessagesSince: read(z.tuple([Small]), (held, [sequence]) => held.readMessagesSince(sequence)),
  readAskedModel: read(none, (held) => held.readAskedModel()),
  openValues: readAtWork(none, async ({ held, run }) =>
    held.openValues({ run, environment: await environmentOf(held, run) }),
  ),
  start: verb(z.tuple([shape.Resolved, Optional(shape.Sandbox)]), async (call, [resolved, sandbox]) =>
    call.held.start(resolved, sandbox && (await ownSandbox(call, sandbox))),
  ),
  finish: write(z.tuple([shape.End, Optional(shape.TurnEnd)]), (held, [ending, turn_end]) =>
    held.finish(ending, turn_end),
  ),
  release: write(none, (held) => held.release()),
  requeue: verb(z.tuple([Sentence, z.boolean()]), ({ held, worker }, [reason, counted]) =>
    held.requeue(reason, counted, worker.pool),
  ),
  appendEvents: write(z.tuple([Small, z.array(shape.Event).max(100_000)]), (held, [batch, events]) =>
    held.appendEvents(batch, events),
  ),
  writeOpenMessages: write(z.tuple([z.array(shape.OpenMessage).max(1_000)]), (held, [messages]) =>
    held.writeOpenMessages(messages),
  ),
  deliverFollowups: write(none, (held) => held.deliverFollowups()),
  acknowledgeInterrupt: write(z.tuple([Small]), (held, [sequence]) => held.acknowledgeInterrupt(sequence)),
  writeHarnessState: write(z.tuple([z.record(z.string(), z.unknown())]), (held, [state]) =>
    held.writeHarnessState(state),
  ),
  findEnvironment: readAtWork(none, async ({ held, run }) => {
    const environment = await environmentOf(held, run)
    return environment && { ...environment, sealed: null }
  }),
  useSecrets: readAtWork(z.tuple([Names]), async ({ held, run }, [names]) => {
    const { secrets = [] } = (await environmentOf(held, run))?.config ?? {}
    requireAll(names, secrets)
    return held.useSecrets(names, run)
  }),
  markSetup: readOf(z.tuple([z.boolean()]), async ({ held, run }, [failed]) => {
    if (run.environment_id !== null) await held.markSetup(run.environment_id, failed)
  }),
  recordSkills: readOf(
    z.tuple([shape.SavedEnvironment, shape.FoundSkills]),
    async ({ held, run }, [environment, found]) => {
      if (run.environment_id === environment.uid) await held.recordSkills(environment, found)
    },
  ),
  readSandbox: readOf(none, async ({ held, worker }) => {
    const sandbox = await held.readSandbox()
    return sandbox && { ...sandbox, place: placeOutOf(worker.pool, sandbox.place) }
  }),
  recordSandbox: verb(z.tuple([shape.Sandbox]), async (call, [sandbox]) =>
    call.held.recordSandbox(await ownSandbox(call, sandbox)),
  ),
  findSnapshot: read(none, (held) => held.findSnapshot()),
  readMoment: verb(none, ({ held }) => held.readMoment()),
  insertSnapshot: write(z.tuple([shape.Snapshot, Small]), (held, [snapshot, turns]) =>
    held.insertSnapshot(ofRun(held, 'snapshots', snapshot), turns),
  ),
  confirmSnapshot: write(z.tuple([Id]), (held, [id]) => held.confirmSnapshot(id)),
  removeOlderSnapshots: write(z.tuple([Small]), (held, [turns]) => held.removeOlderSnapshots(turns)),
  recordTurnEnd: write(z.tuple([shape.TurnEnd]), (held, [end]) => held.recordTurnEnd(end)),
  readAwaitedAttachments: read(none, (held) => held.readAwaitedAttachments()),
  markAttachmentWritten: write(z.tuple([Id]), (held, [id]) => held.markAttachmentWritten(id)),
  readKeptBytes: read(none, (held) => held.readKeptBytes()),
  readArtifactHashes: read(none, (held) => held.readArtifactHashes()),
  insertArtifact: write(z.tuple([shape.Artifact]), (held, [artifact]) =>
    held.insertArtifact(ofRun(held, 'artifacts', artifact)),
  ),
  findArtifactOf: read(z.tuple([shape.Path]), (held, [filepath]) => held.findArtifactOf(filepath)),
  countArtifacts: read(none, (held) => held.countArtifacts()),
  putPlan: write(z.tuple([shape.Plan]), (held, [plan]) => held.putPlan(ofRun(held, 'artifacts', plan))),
  readReferenceUrls: read(none, (held) => held.readReferenceUrls()),
  recordReference: write(z.tuple([shape.Reference]), (held, [reference]) => held.recordReference(reference)),
  findDiff: read(none, (held) => held.findDiff()),
  readTurn: read(none, (held) => held.readTurn()),
  insertDiff: write(z.tuple([shape.Artifact, shape.KeptDiff]), (held, [patch, diff]) =>
    held.insertDiff(ofRun(held, 'artifacts', patch), diff),
  ),
  readPushes: read(none, (held) => held.readPushes()),
  findPushedPulls: read(z.tuple([shape.PushedFiles]), (held, [files]) => held.findPushedPulls(files)),
  takePullTurn: write(z.tuple([shape.PushedFiles]), (held, [files]) => held.takePullTurn(files)),
  endPullTurn: write(z.tuple([shape.PushedFiles]), (held, [files]) => held.endPullTurn(files)),
  recordPush: write(z.tuple([shape.Pushed]), (held, [push]) => held.recordPush(push)),
  findRun: readOf(z.tuple([Id]), async ({ held, run }, [run_id]) => {
    const found = await held.findRun(run_id, run.principal_id)
    return found?.ancestor_run_ids.includes(run.run_id) ? { ...found, sealed: null } : null
  }),
  listChildren: readOf(z.tuple([Small.max(1_000)]), ({ held, run }, [most]) => held.listChildren(run, most)),
  readLastMessage: readOf(z.tuple([Id]), async ({ held, run }, [run_id]) => {
    const found = await held.findRun(run_id, run.principal_id)
    return found?.ancestor_run_ids.includes(run.run_id) ? held.readLastMessage(run_id) : null
  }),
  hasOtherWorker: verb(none, ({ held, worker }) => held.hasOtherWorker(worker.pool)),
  spawnRun: readOf(z.tuple([shape.Child, Name]), async ({ held, spawnRun }, [request, key]) =>
    spawnRun?.(held.lease, request, key),
  ),
} satisfies Record<string, Verb>

export type RunVerb = Exclude<keyof typeof RUN_VERBS, 'spawnRun'> & keyof HeldRun

const environmentOf = (held: HeldRun, run: RunRow) =>
  run.environment_id === null ? Promise.resolve(null) : held.findEnvironment(run.environment_id)

function requireAll(names: readonly string[], allowed: readonly string[]): void {
  const other = names.find((name) => !allowed.includes(name))
  if (other !== undefined)
    throw new AppError('not_authorized', `The run's environment does not name the secret ${other}.`)
}

/** Where its worker is, whatever it says; a run may name no sandbox of another. */
async function ownSandbox({ db, held, worker }: RunCall, sandbox: NewSandbox): Promise<NewSandbox> {
  const own = { ...sandbox, place: worker.place }
  if (await mayUseSandbox(db, held.lease, own)) return own
  throw new AppError('invalid_request', 'ref: must be of a sandbox of the run.')
}

/** A row may name no file but those of its run that are stored as such. */
function ofRun<T extends { blob_key: string; index_blob_key?: string | null }>(
  { lease }: HeldRun,
  folder: 'artifacts' | 'snapshots',
  row: T,
): T {
  const require = (field: string, key: string, of: string) => {
    if (!isBlobKey(key) || !key.startsWith(`runs/${lease.run_id}/${of}/`))
      throw new AppError('invalid_request', `${field}: must be of the run.`)
  }
  require('blob_key', row.blob_key, folder)
  if (typeof row.index_blob_key === 'string') require('index_blob_key', row.index_blob_key, 'indexes')
  return row
}

/** The shapes of all that a worker over HTTPS sends. Whoever controls its machine can send anything. */
import { z } from 'zod'
import { Changes } from '../contract/diff.ts'
import { EVENT_DATA, type EventType, type NewEvent } from '../contract/event.ts'
import { ResolvedRun } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import { RunStatusMessage } from '../contract/state.ts'
import type { ChildRequest } from '../harness/tool-services.ts'
import type { NewArtifact } from '../store/artifacts.ts'
import type { Diff } from '../store/diffs.ts'
import type { NewPush } from '../store/pushes.ts'
import type { RunReference } from '../store/run-references.ts'
import type { NewSandbox } from '../store/sandboxes.ts'
import type { NewSnapshot } from '../store/snapshots.ts'
import type { Ending } from '../store/transitions.ts'
import type { WorkspaceEnd } from '../store/turn-ends.ts'
import type { WorkerRegistration } from '../store/workers.ts'
import { KnownModels } from './known-models.ts'

/** A shape for values of this type. Fields that it does not name are left out, so that none passes unchecked. */
const shaped = <T>(shape: z.ZodType): z.ZodType<T> => shape as z.ZodType<T>

const text = (most: number) => z.string().max(most)
const NAME = 1_024
const PATH = 16_384
const SENTENCE = 65_536
export const Count = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
export const Small = z.int().min(0).max(2_147_483_647)
export const Id = z.string().refine(isUuid, 'must be an id')
export const Name = text(NAME)
export const Path = text(PATH)
export const Names = z.array(Name).max(10_000)
export const Sentence = text(SENTENCE)
const Ids = z.array(Id).max(10_000)
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const Commits = z.record(Name, Name.nullable())

const AnyEvent = z.object({
  type: z.enum(Object.keys(EVENT_DATA) as [EventType, ...EventType[]]),
  data: z.record(z.string(), z.unknown()),
})
export const Event = z.custom<NewEvent>((value) => {
  const { success, data } = AnyEvent.safeParse(value)
  return success && EVENT_DATA[data.type].safeParse(data.data).success
}, 'must be an event')

export const OpenMessage = z.object({ message_id: Name, text: text(2 ** 21) })
export const Resolved = shaped<ResolvedRun>(ResolvedRun)

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** Backends make files and names of it. */
const SandboxId = z.string().regex(/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$/)
/** Its run's id, or what a worker calls one that it made in advance. */
const SandboxName = z.string().regex(new RegExp(`^${UUID}(?:\\.warm-${UUID})?$`))

export const Sandbox = shaped<NewSandbox>(
  z.strictObject({
    place: text(4_096),
    ref: z.strictObject({ backend: Name, id: SandboxId, run_id: SandboxName, attempt: Small }),
    prepared: z.boolean(),
    commits: Commits,
    attachments_written: Ids.optional(),
  }),
)

export const TurnEnd: z.ZodType<WorkspaceEnd> = z.union([
  z.object({ snapshot_id: Id }),
  z.enum(['pristine', 'unkept']),
])

export const End = shaped<Ending>(
  z.strictObject({
    state: z.enum(['SUCCEEDED', 'FAILED', 'ERROR', 'BLOCKED']),
    status_message: RunStatusMessage.optional(),
    result: z.unknown().optional(),
    session: z.enum(['kept', 'gone']).optional(),
  }),
)

export const Snapshot = shaped<NewSnapshot>(
  z.object({
    ...{ snapshot_id: Id, execution: Small, turn: Small, sequence: Small, attachments_written: Ids },
    ...{ folders: Names, commits: Commits, backend: Name, sandbox_id: Name, image: Name.nullable() },
    ...{ stamp: Sentence.nullable(), blob_key: Name, size_bytes: Count, expanded_bytes: Count },
    // An older worker writes no index.
    ...{ index_blob_key: Name.nullish(), entries: Small, sha256: Sha256 },
  }),
)

const artifact = {
  ...{ artifact_uid: Id, filename: Path, filepath: Path, mime_type: Name, size_bytes: Small, sha256: Sha256 },
  ...{ blob_key: Name, title: Sentence.optional(), description: Sentence.optional() },
  artifact_type: z.enum(['FILE', 'SCREENSHOT', 'PLAN', 'DIFF']),
}
export const Artifact = shaped<NewArtifact>(z.object(artifact))
export const Plan = shaped<NewArtifact & { title: string }>(z.object({ ...artifact, title: Sentence }))
export const KeptDiff = shaped<Diff>(Changes.extend({ turn: Small }))
export const Reference = shaped<RunReference>(EVENT_DATA['reference.reported'])
export const PushedFiles = z.object({ repository: Name, tree: Name })
export const Pushed = shaped<NewPush>(
  EVENT_DATA['changes.pushed'].extend({ artifact_uid: Id, tree: Name.nullable().optional() }),
)

export const FoundSkills = shaped<EnvironmentSkills>(
  z.object({
    skills: z.array(z.looseObject({ description: Sentence, text: text(2 ** 21), commit: Name })).max(10_000),
    malformed: z.array(z.looseObject({ error: Sentence })).max(10_000),
  }),
)
export const SavedEnvironment = z.object({ uid: Name, last_updated: z.coerce.date() })

export const Child = shaped<ChildRequest>(
  z.strictObject({
    prompt: text(2 ** 20),
    title: Sentence.optional(),
    model_id: Name.optional(),
    skill: Name.optional(),
  }),
)

/** Read and not only checked: nothing else is stored. */
export const Registration = z.object({
  ...{ worker_id: Id, host: Name, version: Name, place: text(4_096), slots: Small.min(1).max(1_000) },
  ...{ sandbox: Name, models: KnownModels, lacking_agents: Names },
  images: z.object({ patterns: Names, local: z.boolean() }).optional(),
}) as unknown as z.ZodType<Omit<WorkerRegistration, 'pool'>>

import { Readable } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { BlobsUnavailable, discardBlob } from '../blobs/blobs.ts'
import { decodePercent } from '../contract/percent.ts'
import type { AttachedFile, Keeper, Refused } from '../harness/tool-services.ts'
import { TURN_STOPPED } from '../log/interruption.ts'
import { type Sandbox, SandboxFileError } from '../sandbox/sandbox.ts'
import type { ArtifactRow, NewArtifact } from '../store/artifacts.ts'
import { readContentType } from './content-type.ts'
import type { WorkerContext } from './context.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'
import { type PutArtifact, putArtifact } from './put-artifact.ts'

const MiB = 1024 ** 2
const MAX_BYTES = 100 * MiB
/** Of one run, however they came to be. */
const MAX_ARTIFACTS = 1_000
const MAX_DEPTH = 32
const MAX_REFERENCES = 200
const ARTIFACTS = '/workspace/artifacts/'
const SHOWN = /^image\/(png|jpeg|webp)$/

interface KeeperServices {
  context: WorkerContext
  store: FencedStore
  sandbox: Sandbox
  masked: Pick<EventWriter['masked'], 'text'>
  /** Waits until what was emitted before is stored: a call stands in the log before what it made. */
  drain: () => Promise<void>
}

/** Keeps what an agent hands over by its tools: plan, files, addresses. Names and titles are masked, bytes of files are not. */
export class RunKeeper implements Keeper {
  readonly #services: KeeperServices

  constructor(services: KeeperServices) {
    this.#services = services
  }

  async keepPlan(plan: { title: string; text: string }): Promise<Refused | null> {
    const { context, store, masked, drain } = this.#services
    const bytes = Buffer.from(masked.text(plan.text))
    if (bytes.length > (await this.#room())) return this.#full()
    return this.#storing(async () => {
      const { stored } = await putArtifact(context.plane.blobs, store, () => Readable.from([bytes]))
      await drain()
      const replaced = await store.putPlan({
        ...stored,
        ...{ artifact_type: 'PLAN', filename: 'plan.md', filepath: 'plan.md', mime_type: 'text/markdown' },
        title: masked.text(plan.title),
      })
      if (replaced !== null) await discardBlob(context.plane.blobs, replaced)
      return null
    })
  }

  async attach(file: AttachedFile): ReturnType<Keeper['attach']> {
    const { context, store, sandbox, masked, drain } = this.#services
    const { path, signal } = file
    const wrong = await findFault(sandbox, path)
    if (wrong !== null) return { refusal: wrong }
    const room = await this.#room()
    if ((await store.countArtifacts()) >= MAX_ARTIFACTS)
      return { refusal: `A run keeps at most ${MAX_ARTIFACTS} artifacts.` }
    // As files of the folder of artifacts are named at the end of a turn: none is kept twice.
    const filepath = masked.text(path.startsWith(ARTIFACTS) ? path.slice(ARTIFACTS.length) : path)
    return this.#storing(async () => {
      const open = () => sandbox.openFile(path, { max_bytes: Math.max(0, Math.min(MAX_BYTES, room)) })
      const put = await this.#put(open, signal).catch((error: unknown) => {
        if (error instanceof SandboxFileError) return error
        throw error
      })
      if (put === 'stopped') return { refusal: TURN_STOPPED }
      if (put instanceof SandboxFileError)
        return put.code !== 'EFBIG'
          ? { refusal: `${put.code}: ${path} cannot be read.` }
          : room < MAX_BYTES
            ? this.#full()
            : { refusal: `${path} is larger than ${MAX_BYTES / MiB} MiB.` }
      const { stored, head } = put
      const filename = filepath.split('/').at(-1) ?? filepath
      const mime_type = await readContentType(head, filename)
      const told = { filepath, mime_type, size_bytes: stored.size_bytes }
      const artifact: NewArtifact = {
        ...stored,
        ...{ artifact_type: file.screenshot ? 'SCREENSHOT' : 'FILE', filename, filepath, mime_type },
        ...(file.title === undefined ? {} : { title: masked.text(file.title) }),
        ...(file.description === undefined ? {} : { description: masked.text(file.description) }),
      }
      const is_wrong = file.screenshot && !SHOWN.test(mime_type)
      if (is_wrong || saysTheSame(artifact, await store.findArtifactOf(filepath))) {
        await discardBlob(context.plane.blobs, stored.blob_key)
        if (!is_wrong) return told
        return {
          refusal: `${path} is ${mime_type}, not PNG, JPEG or WebP: it can be attached, but not as a screenshot.`,
        }
      }
      await drain()
      await store.insertArtifact(artifact)
      return told
    })
  }

  /** A file may be large, and the storage slow: neither keeps a turn from being stopped. */
  async #put(open: () => Readable, signal: AbortSignal): Promise<PutArtifact | 'stopped'> {
    const { context, store } = this.#services
    let data: Readable | null = null
    const putting = putArtifact(context.plane.blobs, store, () => {
      if (signal.aborted) throw new Error('The turn was stopped.')
      data = open()
      return data
    })
    const { promise: stopped, resolve } = Promise.withResolvers<'stopped'>()
    const stop = () => resolve('stopped')
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    const put = await Promise.race([putting, stopped]).finally(() =>
      signal.removeEventListener('abort', stop),
    )
    if (put === 'stopped') {
      ;(data as Readable | null)?.destroy(new Error('The turn was stopped.'))
      // What was on its way is done with when it arrives; where the process ends before, the clean-up finds it.
      putting.then(({ stored }) => discardBlob(context.plane.blobs, stored.blob_key)).catch(() => {})
    }
    return put
  }

  async report(reference: Parameters<Keeper['report']>[0]): ReturnType<Keeper['report']> {
    const { store, masked, drain } = this.#services
    const { url, title } = reference
    if (masked.text(url) !== url || masked.text(decoded(url)) !== decoded(url))
      return { refusal: 'The address holds the value of a secret.' }
    const known = await store.readReferenceUrls()
    if (!known.has(url) && known.size >= MAX_REFERENCES)
      return { refusal: `A run reports at most ${MAX_REFERENCES} addresses.` }
    await drain()
    await store.recordReference({
      ...reference,
      artifact_uid: uuidv7(),
      ...(title === undefined ? {} : { title: masked.text(title) }),
    })
    store.touch()
    return { known: known.has(url) }
  }

  async #room(): Promise<number> {
    const { context, store } = this.#services
    return context.settings.max_run_files_bytes - (await store.readKeptBytes())
  }

  #full(): Refused {
    return {
      refusal: `A run keeps ${this.#services.context.settings.max_run_files_bytes / MiB} MiB of files.`,
    }
  }

  async #storing<T>(work: () => Promise<T>): Promise<T | Refused> {
    const { context, store } = this.#services
    try {
      const done = await work()
      store.touch()
      return done
    } catch (error) {
      if (!(error instanceof BlobsUnavailable)) throw error
      context.log.warn({ err: error, ...store.lease }, 'An artifact was not kept.')
      return { refusal: `It cannot be kept now: ${error.message}` }
    }
  }
}

/** Whether it is kept already. Where the agent says nothing of a file, whatever it said before stands. */
const saysTheSame = (artifact: NewArtifact, kept: ArtifactRow | null): boolean =>
  kept !== null &&
  kept.sha256 === artifact.sha256 &&
  (kept.artifact_type === artifact.artifact_type || artifact.artifact_type === 'FILE') &&
  (artifact.title === undefined || artifact.title === kept.title) &&
  (artifact.description === undefined || artifact.description === kept.description)

/** Some of it may be no encoding at all. */
const decoded = (url: string): string => url.replace(/(?:%[0-9a-f]{2})+/gi, decodePercent)

/** Why the file cannot be attached; `null` when it can. Links are not followed, which would lead out of the two folders. */
async function findFault(sandbox: Sandbox, path: string): Promise<string | null> {
  if (/[\p{Cc}\ufffd]/u.test(path)) return 'The path holds control characters: give the file another name.'
  const root = [sandbox.workspace, sandbox.home].find((folder) => folder && path.startsWith(`${folder}/`))
  if (root === undefined)
    return `${path} is not in ${[sandbox.workspace, sandbox.home].filter(Boolean).join(' or ')}: copy it there first.`
  const names = path.slice(root.length + 1).split('/')
  if (names.length > MAX_DEPTH) return `The path is more than ${MAX_DEPTH} folders deep.`
  for (let depth = 1; depth <= names.length; depth += 1) {
    const place = `${root}/${names.slice(0, depth).join('/')}`
    const found = await sandbox.stat(place)
    if (found === null) return `${path} does not exist.`
    if (found.type === 'symlink') return `${place} is a symbolic link: give the path of the file itself.`
    if (depth < names.length) {
      if (found.type !== 'directory') return `${place} is no directory.`
    } else if (found.type !== 'file')
      return found.type === 'directory'
        ? `${path} is a directory: pack it first, with tar for example.`
        : `${path} is not a regular file.`
  }
  return null
}

import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { IndexedFile } from '../../archives/file-index.ts'
import { type FoundFiles, IndexRefused, lookUpFiles } from '../../archives/look-up-files.ts'
import { openPackedFile } from '../../archives/packed-file.ts'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { isUuid } from '../../contract/run-id.ts'
import {
  cleanPath,
  type ListWorkspaceFilesResponse,
  type WorkspaceFileItem,
  type WorkspaceFileResponse,
} from '../../contract/workspace-file.ts'
import { brokenCursor, decodeCursor, encodeCursor } from '../../store/cursor.ts'
import { requireUnmasked } from '../../store/grants.ts'
import { findVisibleSnapshot } from '../../store/snapshots.ts'
import { noteReading } from '../audit.ts'
import type { Services } from '../context.ts'
import { DOWNLOAD_HEADERS, describeDisposition, openUnmasked, sendWithin } from '../download.ts'
import { type KeptWorkspace, requireKeptWorkspace } from '../kept-workspace.ts'
import { type Call, serve } from '../route.ts'
import { requireRun } from './runs.ts'

const USUAL_PAGE = 200
/** The most of a file's name that stands in an address, whose parts are limited. Its beginning is cut off. */
const NAME_CHARACTERS = 200
const BROKEN = 'The list of the files of this turn is damaged. Download the workspace as a whole.'
const GONE = 'The files of this turn are not in the storage any more.'

type FileCall = Pick<Call<typeof ROUTES.getWorkspaceFile>, 'params' | 'actor' | 'request'>

export function serveWorkspaceFiles(app: FastifyInstance, services: Services): void {
  const { store, links, settings } = services

  const requireWorkspace = async (call: FileCall, turn: number | undefined): Promise<KeptWorkspace> => {
    const run = await requireRun(services, call.params.run_id, call.actor)
    await requireUnmasked(store.db, call.actor, run, 'workspace')
    noteReading(call.request, call.actor, run)
    return requireKeptWorkspace(store.db, run.run_id, turn)
  }

  const lookUp = (
    { snapshot }: KeptWorkspace,
    actor: Actor,
    path: string,
    page: { after?: string; most: number },
  ): Promise<FoundFiles> => {
    const open = async (): Promise<Readable> => {
      const file = { run_id: snapshot.run_id, blob_key: snapshot.index_blob_key }
      const index = await openUnmasked(services, file, actor, 'workspace')
      if (!index) throw new AppError('resource_not_found', GONE)
      // An index takes what a download takes: there may be a million lines.
      return sendWithin(services, actor, index)
    }
    return lookUpFiles(open, path, page).catch((error: unknown) => {
      if (error instanceof IndexRefused) throw new AppError('resource_not_found', BROKEN, { cause: error })
      throw error
    })
  }

  serve(app, services, ROUTES.listWorkspaceFiles, async (call) => {
    const { query, actor } = call
    const path = cleanPath(query.path ?? '')
    const begin = query.cursor === undefined ? null : readCursor(query.cursor, path)
    const workspace = await requireWorkspace(call, begin?.turn ?? query.turn)
    const { turn, turns, snapshot } = workspace
    const most = query.limit ?? USUAL_PAGE
    const { itself, inside, has_more } = await lookUp(workspace, actor, path, {
      after: begin?.after ?? '',
      most,
    })
    if (!itself) throw notThere(path, turn)
    // As `ls` does.
    const listed = itself.type === 'folder' ? inside : [itself]
    const last = has_more ? inside.at(-1) : undefined
    const answer: ListWorkspaceFilesResponse = {
      ...{ run_id: snapshot.run_id, turn, turns, path, files: listed.map(viewFile) },
      page_info: pageInfo(last ? encodeCursor([turn, path, last.name]) : null),
    }
    return answer
  })

  serve(app, services, ROUTES.getWorkspaceFile, async (call) => {
    const path = cleanPath(call.query.path)
    const workspace = await requireWorkspace(call, call.query.turn)
    const { turn, snapshot } = workspace
    const { itself } = await lookUp(workspace, call.actor, path, { most: 0 })
    if (!itself) throw notThere(path, turn)
    if (itself.type !== 'file') throw notAFile(itself)
    const { size, offset, name } = itself
    const place = `${offset}-${size}/${encodeURIComponent([...name].slice(-NAME_CHARACTERS).join(''))}`
    const signed = links.sign(`/downloads/snapshots/${snapshot.snapshot_id}/${place}`, call.actor)
    const answer: WorkspaceFileResponse = {
      ...{ run_id: snapshot.run_id, turn, ...viewFile(itself), type: 'file', size_bytes: size },
      download_url: settings.downloads_url + signed.path,
      expires_at: signed.expires_at.toISOString(),
    }
    return answer
  })

  app.get('/downloads/snapshots/:id/:part/:name', async (request, reply) => {
    const { id, part, name } = request.params as Record<'id' | 'part' | 'name', string>
    const actor = await links.verify(
      `/downloads/snapshots/${id}/${part}/${encodeURIComponent(name)}`,
      request.query,
    )
    const [offset = 0, size = 0] = part.split('-').map(Number)
    const snapshot = isUuid(id) ? await findVisibleSnapshot(store.db, id, actor) : null
    const archive = snapshot && (await openUnmasked(services, snapshot, actor, 'workspace'))
    if (!archive) throw new AppError('resource_not_found', GONE)
    return reply
      .headers({
        ...DOWNLOAD_HEADERS,
        'content-type': 'application/octet-stream',
        'content-length': size,
        'content-disposition': describeDisposition(name, false),
      })
      .send(openPackedFile(sendWithin(services, actor, archive), { offset, size }))
  })
}

function readCursor(cursor: string, path: string): { turn: number; after: string } {
  const [turn, of, after] = decodeCursor(cursor, 3)
  if (typeof turn !== 'number' || !Number.isSafeInteger(turn) || turn < 1 || typeof after !== 'string')
    throw brokenCursor()
  if (of !== path) throw new AppError('invalid_request', 'cursor: belongs to another folder.')
  return { turn, after }
}

const notThere = (path: string, turn: number): AppError =>
  new AppError('resource_not_found', `There is no ${path} in the workspace as turn ${turn} left it.`)

function notAFile({ path, type, target }: IndexedFile): AppError {
  const named = path || '/workspace'
  return new AppError(
    'invalid_request',
    type === 'link'
      ? `${named} is a link to ${target}. Links are not followed; ask for the path that it leads to.`
      : `${named} is a ${type === 'other' ? 'pipe' : type}, not a file.`,
  )
}

const viewFile = ({ path, name, type, mode, size, target }: IndexedFile): WorkspaceFileItem => ({
  ...{ path, name, type, mode: mode.toString(8) },
  ...(type === 'file' ? { size_bytes: size } : {}),
  ...(target === undefined ? {} : { target }),
})

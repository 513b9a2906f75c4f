import { AppError } from '../contract/error.ts'
import type { Db } from '../store/db.ts'
import { type KeptTurn, readKeptTurns } from '../store/snapshots.ts'

/** The workspace of a turn, with the index of its files. */
export interface KeptWorkspace {
  turn: number
  snapshot: NonNullable<KeptTurn['snapshot']> & { index_blob_key: string }
  /** All turns that have one. */
  turns: number[]
}

/** Without a `turn`: the last one whose workspace is kept. Throws 404, and says why there is none. */
export async function requireKeptWorkspace(
  db: Db,
  run_id: string,
  asked: number | undefined,
): Promise<KeptWorkspace> {
  const ended = await readKeptTurns(db, run_id)
  const kept = ended.flatMap(({ turn, snapshot }) =>
    snapshot?.index_blob_key
      ? [{ turn, snapshot: { ...snapshot, index_blob_key: snapshot.index_blob_key } }]
      : [],
  )
  const turns = kept.map(({ turn }) => turn)
  const found = asked === undefined ? kept.at(-1) : kept.find(({ turn }) => turn === asked)
  if (found) return { ...found, turns }
  const last = asked === undefined ? ended.at(-1) : ended.find(({ turn }) => turn === asked)
  const others = turns.length > 0 ? ` Turns whose files can be listed: ${turns.join(', ')}.` : ''
  throw new AppError('resource_not_found', `${whyNot(last, asked)}${others}`)
}

function whyNot(ended: KeptTurn | undefined, asked: number | undefined): string {
  if (!ended)
    return asked === undefined
      ? 'No turn of this run has ended yet, so no files are kept.'
      : `No turn ${asked} of this run has ended.`
  const { turn, snapshot, pristine } = ended
  if (snapshot)
    return `The workspace of turn ${turn} was kept by an older version, which did not list its files. Download it as a whole, or send the run a message: the next turn's files can be listed.`
  if (pristine)
    return `Nothing had been changed in the workspace by the end of turn ${turn}, so it was not kept.`
  return `The workspace of turn ${turn} is not kept, or not any more (RUNYARD_SNAPSHOT_TURNS, retention).`
}

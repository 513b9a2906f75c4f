/** What a client of git asks a server to do with its branches (gitprotocol-pack(5), "Reference Update Request"). */
import type { Readable } from 'node:stream'
import { FLUSH, readLines, writeLine } from './pkt-line.ts'

/** Some six hundred branches. */
const MAX_COMMAND_BYTES = 65_536
/** Of a line that says which band it belongs to. */
const BAND_BYTES = 65_000
const COMMAND =
  /^(?<old>[0-9a-f]{40}|[0-9a-f]{64}) (?<next>[0-9a-f]{40}|[0-9a-f]{64}) (?<ref>[\x21-\x7e\x80-\xff]+)$/
const SHALLOW = /^shallow ([0-9a-f]{40}|[0-9a-f]{64})$/
const NOTHING = /^0+$/
const EVENTS = ['readable', 'end', 'close', 'error']

export interface PushCommand {
  /** As in `refs/heads/main`, bytes as Latin-1. */
  ref: string
  deletes: boolean
}

export interface Push {
  commands: PushCommand[]
  capabilities: ReadonlySet<string>
  /** What was read of the request: to be passed on before the rest. */
  head: Buffer
}

/**
 * Reads what a push asks for and leaves the rest of the body (the pack) in the stream. `null` where it cannot be read, or is
 * nothing that is passed on: signed pushes say their commands in another way.
 */
export async function readPush(body: Readable): Promise<Push | null> {
  const read = await readHead(body)
  if (!read) return null
  const commands: PushCommand[] = []
  const capabilities = new Set<string>()
  for (const line of read.lines) {
    const [text = '', said] = line.toString('latin1').replace(/\n$/, '').split('\0')
    if (SHALLOW.test(text)) continue
    const { ref, next } = COMMAND.exec(text)?.groups ?? {}
    if (ref === undefined || next === undefined) return null
    // On the first line by the protocol; servers of git hear them on every one.
    for (const capability of said?.split(' ') ?? []) capabilities.add(capability)
    commands.push({ ref, deletes: NOTHING.test(next) })
  }
  return { commands, capabilities, head: read.head }
}

/** The lines and their bytes; `null` where there is no end of them. Throws `BrokenLines`. */
async function readHead(body: Readable): Promise<{ lines: Buffer[]; head: Buffer } | null> {
  const head = Buffer.alloc(MAX_COMMAND_BYTES)
  const lines: Buffer[] = []
  let [filled, parsed] = [0, 0]
  while (filled < head.length) {
    const piece = await readPiece(body)
    if (!piece) return null
    const taken = piece.copy(head, filled)
    filled += taken
    const read = readLines(head.subarray(0, filled), parsed)
    lines.push(...read.lines)
    parsed = read.at
    if (!read.is_end) continue
    const rest = Buffer.concat([head.subarray(parsed, filled), piece.subarray(taken)])
    if (rest.length > 0) body.unshift(rest)
    return { lines, head: head.subarray(0, parsed) }
  }
  return null
}

/** What has come; `null` at the end. */
async function readPiece(body: Readable): Promise<Buffer | null> {
  for (;;) {
    const piece = body.read() as Buffer | null
    if (piece || body.readableEnded || body.destroyed) return piece
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const name of EVENTS) body.once(name, resolve)
    await promise
    for (const name of EVENTS) body.off(name, resolve)
  }
}

/** What a server answers that does none of it, so that git prints the reason beside each branch. */
export function writeRejection(
  { commands, capabilities }: Push,
  reasonOf: (place: number) => string,
): Buffer {
  const report = Buffer.concat([
    writeLine('unpack ok\n'),
    ...commands.map(({ ref }, place) =>
      writeLine(Buffer.concat([Buffer.from(`ng ${ref} `, 'latin1'), Buffer.from(`${reasonOf(place)}\n`)])),
    ),
    Buffer.from(FLUSH),
  ])
  if (!capabilities.has('side-band-64k')) return report
  const bands: Buffer[] = []
  for (let at = 0; at < report.length; at += BAND_BYTES)
    bands.push(writeLine(Buffer.concat([Buffer.from([1]), report.subarray(at, at + BAND_BYTES)])))
  return Buffer.concat([...bands, Buffer.from(FLUSH)])
}

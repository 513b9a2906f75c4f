import { randomUUID } from 'node:crypto'
import { asJsonText, asNumber, asRecord, asText, parsesAsRecord } from './values.ts'

type Json = Record<string, unknown>

interface OpenCall {
  index: number
  /** As the server says it: some say 0 of every call. */
  told_index: number | undefined
  id: string
  name: string
  arguments: string
  /** Nothing of it was passed on yet, because its name is missing. */
  is_held: boolean
}

interface Piece {
  index: number | undefined
  id: string
  name: string
  /** A piece of the arguments. */
  given: string
}

const isSame = (one: number | undefined, other: number | undefined): boolean =>
  one === undefined || other === undefined || one === other

/** The calls of one answer: pieces come one after the other, of one call or of several in turn. */
export class ChatCalls {
  readonly #calls: OpenCall[] = []

  get count(): number {
    return this.#calls.length
  }

  /** One whose arguments are not whole. */
  get has_open(): boolean {
    return this.#calls.some((call) => call.is_held || !parsesAsRecord(call.arguments))
  }

  read(piece: Json): Json[] {
    const { function: told, index, id, type: _, ...rest } = piece
    // Some servers write the name and the arguments beside the id.
    const { name, arguments: more } = told === undefined ? piece : asRecord(told)
    const given = asJsonText(more)
    const call = this.#find({ index: asNumber(index), id: asText(id) ?? '', name: asText(name) ?? '', given })
    const text = newText(call.arguments, given)
    call.arguments += text
    if (call.name === '') return []
    const told_now = call.is_held ? call.arguments : text
    const first = call.is_held ? { id: call.id, type: 'function' } : {}
    const named = call.is_held ? { name: call.name } : {}
    call.is_held = false
    return [{ ...rest, ...first, index: call.index, function: { ...named, arguments: told_now } }]
  }

  #find({ index, id, name, given }: Piece): OpenCall {
    const last = this.#calls.at(-1)
    const known =
      (id !== '' && this.#calls.findLast((call) => call.id === id && isSame(call.told_index, index))) ||
      (index !== undefined && this.#calls.findLast((call) => call.told_index === index)) ||
      (index === undefined && id === '' && (name === '' || last?.name === '') && last)
    // Another id and a name under the index of a call that has its name: that is the next one.
    const has_name = known && name !== '' && known.name !== ''
    const is_over = known && given !== known.arguments && parsesAsRecord(known.arguments)
    const is_next = has_name && ((id !== '' && known.id !== id) || is_over)
    if (known && !is_next) {
      // A name that comes in pieces, and one that comes again with each piece.
      if (known.name === '') known.name = name
      return known
    }
    const made = {
      ...{ index: this.#calls.length, told_index: index, id: id || `call_${randomUUID()}` },
      ...{ name, arguments: '', is_held: true },
    }
    this.#calls.push(made)
    return made
  }
}

/**
 * The part of a piece of arguments that is new: some servers send the whole once more at the end, and some say `{}` or `null`
 * before the first piece; a call without arguments says nothing.
 */
function newText(known: string, piece: string): string {
  if (known === '') return ['{}', 'null'].includes(piece.trim()) ? '' : piece
  return piece === known && parsesAsRecord(known) ? '' : piece
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AppError } from '../contract/error.ts'
import { parseJson } from './json-body.ts'

const MIB = 1024 ** 2
const LARGEST = 64 * MIB
const parse = (text: string): unknown => parseJson(Buffer.from(text))
const isTooLarge = (error: unknown): boolean => error instanceof AppError && error.status === 413
const fill = (part: string): string => part.repeat((LARGEST - 100) / Buffer.byteLength(part))

describe('a JSON body', () => {
  test('may hold five attachments of 10 MB, with slashes escaped or not, and a long prompt', () => {
    const data = Buffer.alloc(10 * MIB, 'abc/+?é').toString('base64')
    const attachments = Array.from({ length: 5 }, (_, i) => ({ file_name: `${i}"\\`, data }))
    const body = { prompt: '"Well," he said.\n\\'.repeat(40_000), attachments }
    assert.deepEqual(parse(JSON.stringify(body)), body)
    const one = { prompt: 'x', attachments: attachments.slice(0, 1) }
    assert.deepEqual(parse(JSON.stringify(one).replaceAll('/', '\\/')), one)
  })

  test('may begin with a mark of its byte order, and is told that it is UTF-16', () => {
    assert.deepEqual(parse('\ufeff{"a":"é"}'), { a: 'é' })
    const little = Buffer.from('{"a":"é"}', 'utf16le')
    const marked = Buffer.from('\ufeff{"a":1}', 'utf16le')
    for (const bytes of [little, Buffer.from(little).swap16(), marked, Buffer.from(marked).swap16()])
      assert.throws(() => parseJson(bytes), /The body is JSON in UTF-16/)
    assert.throws(() => parseJson(Buffer.from('{"a":"é"}', 'latin1')), /not valid UTF-8/)
    assert.throws(() => parse('\ufeff{'), /not valid JSON/)
  })

  test('ends its strings where a parser does', () => {
    for (const value of [
      '',
      '"',
      '\\',
      '\\"',
      '"\\',
      '\\\\"',
      'a\\',
      '"]}"',
      '[['.repeat(50),
      '\u2028"é\\',
    ]) {
      const body = { [value]: [value, { a: value }, [[]]] }
      assert.deepEqual(parse(JSON.stringify(body)), body)
      assert.deepEqual(parse(JSON.stringify(body, null, 2)), body)
      // What follows is outside again, and counts.
      assert.throws(() => parse(`{"a":${JSON.stringify(value)},"b":[${'[],'.repeat(MIB)}[]]}`), isTooLarge)
    }
  })

  test('of many parts is refused before it is parsed', () => {
    for (const parts of [
      `[${fill('[],')}[]]`,
      `[${fill('{"a":1},')}{}]`,
      `{${fill('"abcdef":1,')}"a":1}`,
      `[${fill('1,')}1]`,
      fill(' '),
      fill('['),
      fill('7'),
      fill('"'),
      `"${fill('\\"')}"`,
      `"${fill('\\\\\\"')}"`,
      `{"a":"${fill('\\""')}`,
      `[${fill(`"${'a'.repeat(8 * 1024)}",`)}1]`,
      JSON.stringify({ extra: Array(100_000).fill(0) }),
    ]) {
      assert.throws(
        () => parse(parts),
        (error) => isTooLarge(error) || /too deep/.test(String(error)),
      )
    }
  })

  test('that is one long string is parsed, or refused as what it is', () => {
    assert.equal(parse(`"${fill('é')}"`), fill('é'))
    for (const wrong of [`"${fill('\\\\')}`, `"${fill('\\\\')}\\"`, `"${fill('a')}`])
      assert.throws(() => parse(wrong), /not valid JSON/)
  })
})

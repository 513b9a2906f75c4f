import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { AttachmentCutter, INLINE_BYTES } from './attachment-cutter.ts'

const LONG = randomBytes(INLINE_BYTES).toString('base64')
const OTHER = randomBytes(INLINE_BYTES + 7).toString('base64')

/** What stays of a body that comes in pieces of so many bytes, and what was cut out of it. */
async function cut(body: string, piece_bytes: number): Promise<{ kept: string; data: string[] }> {
  const data: string[] = []
  const cutter = new AttachmentCutter(() => {
    const at = data.push('') - 1
    return {
      write: async (text) => {
        data[at] += text
      },
      end: async () => `cut ${at}`,
    }
  })
  const bytes = Buffer.from(body)
  const kept: Buffer[] = []
  for (let at = 0; at < bytes.length; at += piece_bytes)
    kept.push(...(await cutter.push(bytes.subarray(at, at + piece_bytes))))
  return { kept: Buffer.concat(kept).toString(), data }
}
const sum = (text: string | undefined) =>
  createHash('sha1')
    .update(text ?? '')
    .digest('hex')

test('only the long data of attachments is cut out, wherever the pieces of the body end', async () => {
  const body = {
    prompt: `a "quoted" \\ text ${LONG}`,
    attachments: [
      { file_name: 'a"}]', data: LONG, more: { data: LONG } },
      { data: 'c2hvcnQ=' },
      { mime_type: 'x', data: OTHER, list: [{ attachments: [{ data: LONG }] }] },
    ],
    config: { attachments: [{ data: LONG }] },
    data: LONG,
  }
  const [first, , third] = body.attachments
  for (const piece_bytes of [977, 65_536, 10_000_000]) {
    const { kept, data } = await cut(JSON.stringify(body), piece_bytes)
    assert.deepEqual(data.map(sum), [LONG, OTHER].map(sum))
    const wanted = {
      ...body,
      attachments: [{ ...first, data: 'cut 0' }, body.attachments[1], { ...third, data: 'cut 1' }],
    }
    assert.equal(sum(kept), sum(JSON.stringify(wanted)))
  }
})

test('names and slashes may be escaped', async () => {
  const [first = '', rest = ''] = [LONG.slice(0, 5), LONG.slice(5)]
  const escaped = first.replace(/./g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const body = `{ "\\u0061ttachments" : [ {"d\\u0061ta":"${escaped}${rest.replaceAll('/', '\\/')}"} ] }`
  for (const piece_bytes of [1_001, 10_000_000]) {
    const { kept, data } = await cut(body, piece_bytes)
    assert.deepEqual(data.map(sum), [sum(LONG)])
    assert.equal(kept, '{ "\\u0061ttachments" : [ {"d\\u0061ta":"cut 0"} ] }')
  }
})

test('what is no base64 at all is refused', async () => {
  await assert.rejects(cut(`{"attachments":[{"data":"${LONG}\\x"}]}`, 4_096), /must be base64/)
})

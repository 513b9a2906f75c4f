import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchField } from './field-watch.ts'

const look = (text: string | Buffer, piece_bytes = 1): string => {
  const watch = watchField('background')
  const bytes = Buffer.from(text)
  let sight = 'clear'
  for (let at = 0; at < bytes.length; at += piece_bytes) sight = watch(bytes.subarray(at, at + piece_bytes))
  return sight
}

test('a field is found wherever it stands and however it is written', () => {
  for (const text of [
    '{"background":true}',
    ' \n{ "model" : "m" , "background"\t: 1 }',
    '{"a":{"b":[1,{"c":"}"}]},"background":"yes"}',
    '{"a":"\\"background\\":true, \\\\","background":{}}',
    '{"\\u0062ackgroun\\u0064":true}',
    '{"background":false,"background":true}',
  ])
    for (const bytes of [1, 7, 1_000]) assert.equal(look(text, bytes), 'found', text)
})

test('what only looks like it is none', () => {
  for (const text of [
    '',
    '{}',
    '{"background":false}',
    '{"background": null, "a": true}',
    '{"a":"background","b":true}',
    '{"a":{"background":true}}',
    '{"a":[{"background":true}],"backgrounds":true}',
    '{"text":"{\\"background\\":true}"}',
    `{"${'x'.repeat(1_000)}background":true}`,
  ])
    for (const bytes of [1, 7, 1_000]) assert.equal(look(text, bytes), 'clear', text)
})

test('what others may read in another way is not read', () => {
  for (const text of [
    '[{"background":true}]',
    'background=true',
    Buffer.from('{"background":true}', 'utf16le'),
    Buffer.from('\ufeff{"background":true}'),
    Buffer.from('{"background":true}', 'utf16le').swap16(),
  ])
    assert.equal(look(text), 'unreadable', String(text))
})

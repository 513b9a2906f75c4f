import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ThinkTags } from './think-tags.ts'

function split(chunks: readonly string[]) {
  const tags = new ThinkTags()
  const parts = [...chunks.map((chunk) => tags.add(chunk)), tags.end()]
  return [parts.map(({ reasoning }) => reasoning).join(''), parts.map(({ text }) => text).join('')]
}

for (const [what, text, expected] of [
  ['thoughts, then text', '<think>\nsecret\n</think>\n\nhello', ['\nsecret\n', 'hello']],
  ['blank lines before them', '\n <think>a</think>b', ['a', 'b']],
  ['no thoughts', 'hello <think>', ['', 'hello <think>']],
  ['what only looks like a tag', '<thin ice', ['', '<thin ice']],
  ['white space alone', '  \n', ['', '  \n']],
  ['thoughts without an end', '<think>cut off', ['cut off', '']],
  ['thoughts about an end', '<think>a </thin b</think>c', ['a </thin b', 'c']],
  ['other tags', '[THINK]a[/THINK]b', ['a', 'b']],
  ['tags with other words', '<thinking>a</thinking>b', ['a', 'b']],
  [
    'the channels of gpt-oss',
    '<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b',
    ['a', 'b'],
  ],
] as const)
  test(`${what}: the same in one piece and character by character`, () => {
    assert.deepEqual(split([text]), expected)
    assert.deepEqual(split([...text]), expected)
  })

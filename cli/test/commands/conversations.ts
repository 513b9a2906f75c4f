import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Conversation, ConversationStep, RunItem } from '@runyard/client'
import { home } from './service.ts'

const LIMIT = { timeout: 600_000 }
const block = (command: string): string => `\`\`\`sh\n${command}\n\`\`\``

let run: RunItem

test('a conversation is printed for reading, by its run or by its own id', LIMIT, async () => {
  await home.run(['run', block('echo first')])
  await home.run(['message', '@last', block('echo second; exit 3'), '--wait'])
  run = JSON.parse((await home.run(['get', '@last', '-o', 'json'])).stdout) as RunItem
  const { code, stdout } = await home.run(['conversation', '@last'])
  assert.equal(code, 0)
  assert.match(
    stdout,
    /› ```sh\n {2}echo first\n[\s\S]*\$ echo first\n {2}│ first\n {2}✓ [\s\S]*› ```sh\n {2}echo second; exit 3\n[\s\S]*│ second\n {2}✗ exit code 3/,
  )
  assert.doesNotMatch(stdout, /QUEUED/)
  assert.equal((await home.run(['conversation', run.conversation_id])).stdout, stdout)
  const none = await home.run(['conversation', '00000000-0000-7000-8000-000000000000'])
  assert.deepEqual(
    [none.code, none.stderr.split('\n')[0]],
    [1, 'error: There is no conversation with this id.'],
  )
})

test('programs get its steps', LIMIT, async () => {
  const whole = JSON.parse((await home.run(['conversation', '@last', '-o', 'json'])).stdout) as Conversation
  assert.deepEqual([whole.conversation_id, whole.run_ids], [run.conversation_id, [run.run_id]])
  assert.deepEqual(
    whole.steps.map(({ id }) => id),
    [`${run.conversation_id}:1`, `${run.conversation_id}:2`],
  )
  const lines = (await home.run(['conversation', '@last', '-o', 'ndjson'])).stdout.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as ConversationStep),
    whole.steps,
  )
})

test('a transcript is the log, in a file or a pipe', LIMIT, async () => {
  const { stdout: logs } = await home.run(['logs', '@last', '-o', 'ndjson'])
  const parse = (text: string): unknown[] =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
  const { stdout } = await home.run(['transcript', '@last'])
  assert.deepEqual(parse(stdout), parse(logs))
  const saved = await home.run(['transcript', '@last', '-f', 'log.jsonl'])
  assert.deepEqual([saved.code, saved.stdout], [0, 'log.jsonl\n'])
  assert.equal(readFileSync(join(home.directory, 'log.jsonl'), 'utf8'), stdout)
  const again = await home.run(['transcript', '@last', '-f', 'log.jsonl'])
  assert.deepEqual([again.code, again.stderr.split('\n')[0]], [2, 'error: log.jsonl exists already.'])
})

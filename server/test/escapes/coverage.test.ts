/** The table of what is not covered, in `docs/security.md`, names probes that exist. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { PROBES, readUncovered } from './escapes.ts'
import { SUBJECTS, type SubjectName } from './probe.ts'

test('each probe has an id of its own', () => {
  const ids = PROBES.map(({ id }) => id)
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  )
})

test('docs/security.md names probes and sandboxes that exist, each once, and every row is read', () => {
  const entries = readUncovered()
  const text = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8')
  const [, section = ''] = text.split(/^## What is not covered$/m)
  assert.equal(entries.length, section.match(/^\| `/gm)?.length ?? 0)
  for (const { id, subjects } of entries) {
    const probe = PROBES.find((one) => one.id === id)
    assert(probe, `There is no probe ${id}.`)
    for (const subject of subjects) {
      assert(
        SUBJECTS.some((known) => known === subject),
        `${id}: there is no ${subject}.`,
      )
      assert(probe.on?.includes(subject as SubjectName) ?? true, `${id} is not tried on ${subject}.`)
    }
  }
  assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length)
})

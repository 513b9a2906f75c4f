/** What `docs/tasks` and the README quote is what the service and its commands say. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ERRORS } from '../src/contract/error.ts'
import { ERROR_PAGES } from '../src/http/error-pages.ts'
import { blocksOf, CHECKOUT, pageOf } from './support/task-pages.ts'

test('every symptom of the pages stands in the sources', () => {
  const sources = globSync('{server,cli,client}/{src,bin}/**/*.{ts,js,sql}', { cwd: CHECKOUT })
    // Those have messages as examples.
    .filter((file) => !/\.test\.ts$|error-pages\.ts$|contract\/examples\//.test(file))
    .map((file) => readFileSync(join(CHECKOUT, file), 'utf8'))
    .join('\n')
  const strange = globSync('docs/tasks/*.md', { cwd: CHECKOUT }).flatMap((file) => {
    const [, ...tables] = readFileSync(join(CHECKOUT, file), 'utf8').split(
      /^\| (?:you see|`waits` says) \|.*\n.*\n/m,
    )
    const rows = tables.flatMap((table) => /^(\|.*\n)+/.exec(table)?.[0].split('\n') ?? [])
    const quoted = rows.flatMap((row) =>
      Array.from((row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g), ([, text = '']) => text),
    )
    assert(quoted.length > 0 || file.endsWith('README.md'), file)
    return quoted
      .flatMap((text) => text.split('…'))
      .map((text) => text.trim())
      .filter((text) => !sources.includes(text))
      .map((text) => `${file}: ${text}`)
  })
  assert.deepEqual(strange, [])
})

test('the README shows commands of the first task', () => {
  const flat = (text: string): string => text.replaceAll(/ \\?\n +/g, ' ')
  const [session = ''] =
    /^```\n\$ [\s\S]*?^```$/m.exec(readFileSync(join(CHECKOUT, 'README.md'), 'utf8')) ?? []
  const shown = Array.from(flat(session).matchAll(/^\$ (.*)$/gm), ([, command = '']) => command)
  const scripts = blocksOf('fix-an-issue').map(({ script }) => flat(script))
  assert.equal(shown.length, 4)
  assert.deepEqual(
    shown.filter((command) => !scripts.some((script) => script.split('\n').includes(command))),
    [],
  )
})

test('troubleshooting has every error code that is given', () => {
  const given = Object.keys(ERRORS).filter((code) => !ERROR_PAGES[code as keyof typeof ERRORS].is_unused)
  const told = Array.from(pageOf('troubleshooting').matchAll(/^\| `([a-z_]+)` \|/gm), ([, code]) => code)
  assert.deepEqual(told, given)
})

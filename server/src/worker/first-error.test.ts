import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FirstError } from './first-error.ts'

function find(text: string, size = text.length): string | null {
  const errors = new FirstError()
  for (let at = 0; at < text.length; at += size) errors.push(text.slice(at, at + size))
  return errors.end()
}

describe('the first error of an output', () => {
  for (const [what, text, found] of [
    [
      'npm',
      'npm warn old\nnpm error code E404\nnpm error 404 Not Found\nnpm error A complete log',
      'npm error code E404',
    ],
    ['older npm', 'npm ERR! code ERESOLVE\nnpm ERR! more', 'npm ERR! code ERESOLVE'],
    ['a shell', 'fine\nbash: line 1: pnpm: command not found\nmore', 'bash: line 1: pnpm: command not found'],
    ['dash', 'sh: 1: pnpm: not found', 'sh: 1: pnpm: not found'],
    [
      'pip',
      'Collecting x\nERROR: No matching distribution found for x',
      'ERROR: No matching distribution found for x',
    ],
    ['apt', 'Reading lists\nE: Unable to locate package x', 'E: Unable to locate package x'],
    ['git', "Cloning\nfatal: repository 'x' not found", "fatal: repository 'x' not found"],
    [
      'a compiler',
      'gcc -c a.c\na.c:3:5: error: unknown type\n3 warnings and 1 error generated.',
      'a.c:3:5: error: unknown type',
    ],
    [
      'cargo',
      'Compiling x\nerror[E0432]: unresolved import\nerror: could not compile',
      'error[E0432]: unresolved import',
    ],
    [
      'Python',
      'Traceback (most recent call last):\n  File "x"\nValueError: no',
      'Traceback (most recent call last):',
    ],
    ['Node', "node:internal\nError: Cannot find module 'x'", "Error: Cannot find module 'x'"],
    [
      'TypeScript',
      "src/a.ts(1,2): error TS2304: Cannot find name 'x'.",
      "src/a.ts(1,2): error TS2304: Cannot find name 'x'.",
    ],
    ['make', 'cc x\nmake: *** [Makefile:2: all] Error 1', 'make: *** [Makefile:2: all] Error 1'],
    ['what only looks like one first', 'Tests failed to run twice\nerror: it is this', 'error: it is this'],
    ['colours and a bar', '10%\r\u001b[31merror\u001b[0m: it\r\n', 'error: it'],
    [
      'nothing',
      'added error-handling@1.0\n0 errors, 0 failed\nwarning: unused\nerrors: 0\nok error.log',
      null,
    ],
  ] as const)
    test(`is that of ${what}, in pieces too`, () => {
      assert.equal(find(text), found)
      assert.equal(find(text, 3), found)
    })

  test('is cut where it has no end', () =>
    assert.equal(find(`error: ${'x'.repeat(100_000)}\n`, 7)?.length, 300))
})

test('a line takes no longer than its length, whatever is in it', () => {
  const length = 1_000_000
  for (const piece of ['\r', '\rx', ' ', 'a: ', '\x1b]', '\x1b[1', '\x1b[1;', ':', '/', '+'])
    assert.equal(
      find(`${piece.repeat(length / piece.length)}x\nerror: here`),
      'error: here',
      JSON.stringify(piece),
    )
  assert.equal(find(`progress\rerror: here${'\r'.repeat(length)}\nmore`), 'error: here')
})

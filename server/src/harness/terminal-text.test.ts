import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showAsTerminal } from './terminal-text.ts'

test('what a program prints is shown as it stands in the end', () => {
  for (const [printed, shown] of [
    ['plain\nlines  \n\ttabs\n', 'plain\nlines  \n\ttabs\n'],
    ['dos\r\nlines\r\n', 'dos\nlines\n'],
    // Progress: curl, tqdm, npm, cargo.
    ['  1%\r 50%\r100%\ndone\n', '100%\ndone\n'],
    ['\r[##   ] 40%\r[#####] 100%\r\nok', '[#####] 100%\nok'],
    ['loading a long name\r\x1b[Kdone', 'done'],
    ['loading\r\x1b[2Kok', 'ok'],
    ['abc\b\b\bxyz', 'xyz'],
    ['spin |\b/\b-\b\\\b done', 'spin  done'],
    // Man pages print letters twice.
    ['N\bNA\bAM\bME\bE', 'NAME'],
    ['\x1b[32m✓\x1b[39m \x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mtrue colour\x1b[m', '✓ red true colour'],
    ['\x1b]0;a title\x07text', 'text'],
    ['\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['\x1bP1$r0m\x1b\\\x1b(B\x1b=shown\x07', 'shown'],
    // Several bars at once: docker pull, pnpm.
    ['a: 0%\nb: 0%\n\x1b[2A\x1b[Ka: 100%\n\x1b[Kb: 90%\n', 'a: 100%\nb: 90%\n'],
    ['one\ntwo\x1b[1A\x1b[1GONE\x1b[1B\x1b[1GTWO', 'ONE\nTWO'],
    ['a\nb\nc\x1b[3F\x1b[Jnew', 'new'],
    ['x\x1b7 saved\x1b8y', 'xysaved'],
    ['abcdef\x1b[4D\x1b[2Pz', 'abzf'],
    ['abc\x1b[5Gx', 'abc x'],
    ['\x1b[?25lhidden cursor\x1b[?25h', 'hidden cursor'],
    // Screens: what came before stays, each screen replaces the one before.
    ['build ok\n\x1b[2J\x1b[Htick 1\n\x1b[H\x1b[2Jtick 2\n', 'build ok\ntick 2\n'],
    ['start\x1bc\x1b[3;3Hx\x1b[1;1Hy', 'start\ny\n\n  x'],
    // Cut short.
    ['a\x1b[3', 'a'],
    ['a\x1b', 'a'],
    ['a\x1b]0;never ends', 'a0;never ends'],
    ['é€😀\rE', 'E€😀'],
    ['invalid \ufffd\ufffd \x9b1m\x00kept', 'invalid \ufffd\ufffd 1mkept'],
  ] as const)
    assert.equal(showAsTerminal(printed), shown, JSON.stringify(printed))
})

test('no text takes more than its length in time and room', () => {
  const long = 'x'.repeat(1_000_000)
  // Written over again and again; far to the right in every line; jumps; strings that never end.
  assert.equal(showAsTerminal(`${long}${'\ry'.repeat(200_000)}`), `y${long.slice(1)}`)
  const right = showAsTerminal('\x1b[999999999Cx\n'.repeat(50_000))
  assert.ok(right.length < 400_000, String(right.length))
  assert.ok(showAsTerminal('\x1b[999999;1Hx\x1b[2J'.repeat(20_000)).length < 1_000_000)
  assert.equal(showAsTerminal(`${'\x1b]'.repeat(200_000)}`), '')
  assert.equal(showAsTerminal(`\x1b[${'1;'.repeat(200_000)}mok`), 'ok')
  assert.equal(
    showAsTerminal(`${'\n'.repeat(100_000)}${'\x1b[500Aa\x1b[500B'.repeat(20_000)}`).length > 0,
    true,
  )
})

test('escapes that move or fill a row do not cost its length each time', () => {
  const long = 'a'.repeat(700_000)
  for (const sequence of ['\x1b[P', '\x1b[1K', '\x1b[X', '\x1b[K', '\x1b[J', '\x1b[@', '\x1b[L'])
    for (const start of ['', '\r']) {
      const shown = showAsTerminal(`${long}${start}${sequence.repeat(700_000 / sequence.length)}\nend`)
      assert.ok(shown.endsWith('\nend'), JSON.stringify(start + sequence))
    }
  // What programs do with lines of the usual length is done to the last.
  const bar = `${'x'.repeat(200)}\r\x1b[2P\x1b[100C\x1b[1K\r`.repeat(10_000)
  assert.equal(showAsTerminal(`${bar}\x1b[2Kdone`), 'done')
  assert.equal(showAsTerminal(bar), `${' '.repeat(101)}${'x'.repeat(97)}`)
})

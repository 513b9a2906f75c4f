import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { watchLeft } from './left-running.ts'

const run = (shell: string, command: string) => {
  const { status, stdout, stderr } = spawnSync(shell, ['-c', command], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('a command that is watched does what it does alone', () => {
  for (const shell of ['bash', 'sh'])
    for (const command of [
      'cat <<EOF\nTom & Jerry\n  EOF',
      "cat <<'EOF'\nTom & 'Jerry' \\\nEOF",
      "true & echo 'it'\\''s' \"$0\" $# 'a\nb'",
      'true & echo $((1 + 1)); false',
      'true & set -e; false; echo never',
      'true & exit 3',
      'true & echo last # a comment',
      'true & f() { return 4; }; f',
      'true &\nwait; kill -9 $$',
    ]) {
      const watched = watchLeft(command)?.command ?? ''
      const alone = run(shell, command)
      const { status, stdout } = run(shell, watched)
      assert.deepEqual(
        [status, stdout.trimEnd()],
        [alone.status, alone.stdout.trimEnd()],
        `${shell}: ${command}`,
      )
      rmSync(noteOf(watched), { force: true })
    }
})

test('a command may end with a backslash', () => {
  for (const shell of ['bash', 'sh']) {
    const watched = watchLeft('true & echo hi \\')?.command ?? ''
    assert.deepEqual(run(shell, watched), { status: 0, stdout: 'hi\n', stderr: '' })
    rmSync(noteOf(watched), { force: true })
  }
})

test('a command that no shell understands fails with its own lines', () => {
  const command = 'true & echo (\n'
  const watched = watchLeft(command)?.command ?? ''
  const { status, stderr } = run('bash', watched)
  assert.notEqual(status, 0)
  assert.match(stderr, /syntax error/)
  assert.doesNotMatch(stderr, /runyard/)
  rmSync(noteOf(watched), { force: true })
})

test('what is left is written down, with its name', () => {
  const watched = watchLeft("sleep 0.2 > /dev/null 2>&1 & echo 'x'; (exit 5)")?.command ?? ''
  const { status, stdout } = run('bash', watched)
  assert.deepEqual([status, stdout], [5, 'x\n'])
  assert.match(readFileSync(noteOf(watched), 'utf8'), /Running\s+sleep 0\.2/)
  rmSync(noteOf(watched))
})

const noteOf = (watched: string): string => /\/tmp\/\.runyard-left-[\w-]+/.exec(watched)?.[0] ?? ''

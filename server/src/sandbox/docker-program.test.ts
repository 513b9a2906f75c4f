import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeProgram } from './docker-program.ts'

const MACHINES = {
  amd64: { node: 'x64', qemu: 'qemu-x86_64' },
  arm64: { node: 'arm64', qemu: 'qemu-aarch64' },
}

for (const [architecture, { node, qemu }] of Object.entries(MACHINES)) {
  const emulator = process.arch === node ? [] : [qemu]
  const missing = emulator.some((name) => spawnSync(name, ['--version']).error !== undefined)
  test(`the ${architecture} program sleeps; with an argument it kills and exits 0`, {
    skip: missing,
  }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'runyard-program-'))
    const file = join(directory, 'program')
    writeFileSync(file, makeProgram(architecture) ?? '', { mode: 0o755 })
    const words = [...emulator, file]
    const sleeping = spawn(words[0] ?? '', words.slice(1), { stdio: 'ignore' })
    const ended = once(sleeping, 'exit')
    await once(sleeping, 'spawn')
    // In a process namespace of its own it can kill nobody else.
    const kill = spawnSync(
      'unshare',
      [
        '--user',
        '--map-root-user',
        '--pid',
        '--fork',
        'sh',
        '-c',
        `sleep 1000 & "$@"; echo "kill $?"; wait $!; echo "sleep $?"`,
        'sh',
        ...words,
        'all',
      ],
      { encoding: 'utf8' },
    )
    assert.equal(kill.stdout, 'kill 0\nsleep 137\n', kill.stderr)
    assert.equal(sleeping.exitCode, null)
    sleeping.kill('SIGKILL')
    assert.equal((await ended)[1], 'SIGKILL')
    rmSync(directory, { recursive: true })
  })
}

test('there is none for other processors', () => {
  assert.equal(makeProgram('s390x'), null)
})

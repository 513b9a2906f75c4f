import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import type { ExecChunk } from '../../src/sandbox/sandbox.ts'
import { eventually, processesWith, run, type Subject, uniqueSeconds } from './sandbox-conformance.ts'

const MiB = 1024 ** 2

export function testExec(subject: Subject): void {
  const { create } = subject

  test('streams chunks as they come, stdout and stderr apart', async () => {
    const sandbox = await create()
    const handle = sandbox.exec({
      command: 'echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2; exit 3',
    })
    const chunks: ExecChunk[] = []
    for await (const chunk of handle.output) {
      chunks.push(chunk)
      // The command waits for this file: it can only end because its first line was seen before its end.
      if (chunks.length === 1) await sandbox.writeFile('go', '')
    }
    const seen = chunks.map(({ stream, data }) => [stream, Buffer.from(data).toString()])
    assert.deepEqual(seen, [
      ['stdout', 'one\n'],
      ['stderr', 'two\n'],
    ])
    assert.equal((await handle.exit).code, 3)
    await sandbox.destroy()
  })

  test('reports exit codes, signals and directories that are not there', async () => {
    const sandbox = await create()
    assert.deepEqual((await run(sandbox, 'exit 42')).exit, {
      code: 42,
      signal: null,
      timed_out: false,
      aborted: false,
      truncated_bytes: 0,
    })
    const killed = (await run(sandbox, 'kill -TERM $$')).exit
    assert.deepEqual([killed.code, killed.signal], [null, 'SIGTERM'])
    assert.equal((await run(sandbox, 'true', { cwd: '/no/such/place' })).exit.code, 126)
    await sandbox.destroy()
  })

  test('passes binary data through stdin and stdout unchanged', async () => {
    const sandbox = await create()
    const bytes = Buffer.from(Array.from({ length: 256 * 1024 }, (_, index) => (index * 7) % 256))
    const chunks: Uint8Array[] = []
    const sources = [bytes, Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)])]
    for (const stdin of sources) {
      chunks.length = 0
      const handle = sandbox.exec({ command: 'cat', stdin })
      for await (const { data } of handle.output) chunks.push(data)
      assert.deepEqual(Buffer.concat(chunks), bytes)
      assert.equal((await handle.exit).code, 0)
    }
    await sandbox.destroy()
  })

  test('reads an empty standard input and reopens its streams by name', async () => {
    const sandbox = await create()
    assert.equal((await run(sandbox, 'wc -c')).stdout.trim(), '0')
    const named = await run(sandbox, 'cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr', {
      stdin: 'in\n',
    })
    assert.deepEqual([named.stdout, named.stderr], ['in\nout\n', 'err\n'])
    await sandbox.destroy()
  })

  test('does not fail when a command ignores its input', async () => {
    const sandbox = await create()
    const { exit } = await run(sandbox, 'exit 0', { stdin: Buffer.alloc(4 * MiB) })
    assert.equal(exit.code, 0)
    await sandbox.destroy()
  })

  test('tells how a command ended whose input was still open', async () => {
    const sandbox = await create()
    const input = new PassThrough()
    input.write('one line\n')
    const { exit, stdout } = await run(sandbox, 'read line; echo "$line"; exit 3', { stdin: input })
    assert.deepEqual([exit.code, exit.aborted, stdout], [3, false, 'one line\n'])
    await sandbox.destroy()
  })

  test('keeps head and tail of 50 MB of output', async () => {
    const sandbox = await create()
    const { exit, stdout } = await run(sandbox, 'echo first; head -c 50000000 /dev/zero; echo; echo last', {
      max_output_bytes: 100_000,
    })
    assert.equal(exit.code, 0)
    assert.equal(stdout.length, 100_000)
    assert.ok(stdout.startsWith('first\n'))
    assert.ok(stdout.endsWith('\nlast\n'))
    assert.equal(exit.truncated_bytes, 50_000_012 - 100_000)
    await sandbox.destroy()
  })

  test('makes a command wait for a slow reader instead of keeping its output', async () => {
    const sandbox = await create()
    const handle = sandbox.exec({
      command: 'head -c 30000000 /dev/zero; echo done > written',
      max_output_bytes: 50 * MiB,
    })
    let bytes = 0
    for await (const { data } of handle.output) {
      if (bytes === 0) assert.equal(await sandbox.stat('written'), null)
      bytes += data.length
    }
    assert.equal(bytes, 30_000_000)
    assert.equal((await handle.exit).truncated_bytes, 0)
    await sandbox.destroy()
  })

  test('takes scripts of any length', async () => {
    const sandbox = await create()
    const word = 'x'.repeat(300_000)
    const { stdout } = await run(sandbox, `cat <<'END' | wc -c\n${word}\nEND\necho end`)
    assert.deepEqual(
      stdout.split('\n').map((line) => line.trim()),
      ['300001', 'end', ''],
    )
    await sandbox.destroy()
  })

  test('sets the environment of the sandbox and of the command', async () => {
    const sandbox = await create({ env: { ONE: 'a b', TWO: 'spec' } })
    const value = '$HOME "quoted" \n second line'
    const { stdout } = await run(sandbox, 'printf "%s|%s|%s" "$ONE" "$TWO" "$THREE"', {
      env: { TWO: 'exec', THREE: value },
    })
    assert.equal(stdout, `a b|exec|${value}`)
    await sandbox.destroy()
  })

  test('a timeout kills the whole tree, double forks included, and keeps what was written', async () => {
    const sandbox = await create()
    const seconds = uniqueSeconds()
    const { exit, stdout } = await run(
      sandbox,
      `echo before; sleep ${seconds} & (setsid sleep ${seconds} &) ; setsid sh -c "sleep ${seconds} & sleep ${seconds}" & wait`,
      { timeout_ms: 1000 },
    )
    assert.deepEqual([exit.timed_out, exit.aborted, exit.code], [true, false, null])
    assert.equal(stdout, 'before\n')
    await eventually('no process of the command is left', () => processesWith(seconds).length === 0)
    assert.equal((await run(sandbox, 'echo usable')).stdout, 'usable\n')
    await sandbox.destroy()
  })

  test('an abort kills the whole tree; one that came before the start too', async () => {
    const sandbox = await create()
    const seconds = uniqueSeconds()
    const abort = new AbortController()
    const handle = sandbox.exec({
      command: `setsid sleep ${seconds} & echo ready; sleep ${seconds}`,
      signal: abort.signal,
    })
    for await (const _ of handle.output) abort.abort()
    const exit = await handle.exit
    assert.deepEqual([exit.aborted, exit.timed_out, exit.code], [true, false, null])
    await eventually('no process of the command is left', () => processesWith(seconds).length === 0)
    const { exit: early } = await run(sandbox, `sleep ${seconds}`, { signal: AbortSignal.abort() })
    assert.equal(early.aborted, true)
    await eventually('no process of the early abort is left', () => processesWith(seconds).length === 0)
    await sandbox.destroy()
  })

  test('kill() ends only its own command and may be called again', async () => {
    const sandbox = await create()
    const seconds = uniqueSeconds()
    const line = new PassThrough()
    const other = sandbox.exec({ command: 'echo ready; read line; echo "got $line"', stdin: line })
    const handle = sandbox.exec({ command: `sleep ${seconds} & sleep ${seconds}` })
    await eventually('the command runs', () => processesWith(seconds).length >= 2)
    await Promise.all([handle.kill(), handle.kill()])
    await handle.kill()
    assert.equal((await handle.exit).signal, 'SIGKILL')
    assert.equal((await handle.exit).timed_out, false)
    await eventually('no process of the command is left', () => processesWith(seconds).length === 0)
    line.end('on\n')
    let text = ''
    for await (const { data } of other.output) text += Buffer.from(data).toString()
    assert.equal(text, 'ready\ngot on\n')
    await sandbox.destroy()
  })

  test('a reader who leaves early does not stall the command', async () => {
    const sandbox = await create()
    const handle = sandbox.exec({ command: 'head -c 20000000 /dev/zero', max_output_bytes: 50 * MiB })
    for await (const _ of handle.output) break
    assert.equal((await handle.exit).code, 0)
    await sandbox.destroy()
  })

  test('a workspace that its user closed is that command’s failure, and not the sandbox’s', {
    skip: subject.backend.capabilities.isolation === 'none' && 'the host’s user passes everywhere',
  }, async () => {
    const sandbox = await create()
    await run(sandbox, 'chmod 000 /workspace')
    assert.notEqual((await run(sandbox, 'true')).exit.code, 0)
    await sandbox.destroy()
  })

  test('what a command leaves running ends with it, or lives on where the backend says so', async () => {
    const sandbox = await create()
    const seconds = uniqueSeconds()
    await run(sandbox, `setsid sleep ${seconds} > /dev/null 2>&1 < /dev/null &`)
    // The shell may have ended before what it left behind has become `sleep`.
    const left = subject.backend.capabilities.background_processes ? 1 : 0
    await eventually(`${left} processes are left`, () => processesWith(seconds).length === left)
    await sandbox.killAll()
    await eventually('killAll ended it', () => processesWith(seconds).length === 0)
    assert.equal((await run(sandbox, 'echo usable')).stdout, 'usable\n')
    await sandbox.destroy()
  })
}

/** Many commands in one sandbox: none may notice the others. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { ExecChunk } from '../../src/sandbox/sandbox.ts'
import { LONG } from './once.ts'
import { eventually, processesWith, run, type Subject, uniqueSeconds } from './sandbox-conformance.ts'

export function testCommands(subject: Subject): void {
  const { create } = subject
  const { background_processes, isolation } = subject.backend.capabilities

  const many = LONG ? 200 : 40
  test(`runs ${many} quick commands one after another, and keeps nothing of them`, async () => {
    const sandbox = await create()
    const count = async () => Number((await run(sandbox, 'ls -d /proc/[0-9]* | wc -l')).stdout)
    const before = await count()
    for (let index = 0; index < many; index++) {
      const { exit, stdout, stderr } = await run(
        sandbox,
        `printf out${index}; echo err${index} >&2; exit ${index % 5}`,
      )
      assert.deepEqual([stdout, stderr, exit.code], [`out${index}`, `err${index}\n`, index % 5])
    }
    // A slot may have been started meanwhile. On the host others start processes, too.
    if (isolation !== 'none') assert.ok((await count()) <= before + 8)
    await sandbox.destroy()
  })

  test('runs commands at the same time, each with its own output', async () => {
    const sandbox = await create()
    for (let round = 0; round < (LONG ? 3 : 1); round++)
      await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const input = index % 2 === 0 ? {} : { stdin: `in${index}\n` }
          const { exit, stdout, stderr } = await run(
            sandbox,
            `for i in 1 2 3; do echo ${round}.${index}; echo e${index} >&2; sleep 0.02; done; cat`,
            input,
          )
          const line = `${round}.${index}\n`
          assert.deepEqual(
            [stdout, stderr, exit.code],
            [line.repeat(3) + (input.stdin ?? ''), `e${index}\n`.repeat(3), 0],
          )
        }),
      )
    await sandbox.destroy()
  })

  test('ends whose input breaks off while they start, or at once after that', async () => {
    const sandbox = await create()
    for (let milliseconds = 0; milliseconds < 40; milliseconds += LONG ? 1 : 4) {
      const stdin = new PassThrough()
      stdin.on('error', () => {})
      const handle = sandbox.exec({ command: 'cat; cat', stdin })
      setTimeout(() => stdin.destroy(new Error('it broke off')), milliseconds)
      const late = setTimeout(() => assert.fail(`${milliseconds} ms: it goes on`), 30_000)
      for await (const _ of handle.output);
      const { code, signal } = await handle.exit
      clearTimeout(late)
      assert.ok(signal === 'SIGKILL' || code === 0, `${milliseconds} ms: ${code ?? signal}`)
    }
    await sandbox.destroy()
  })

  test('passes on whatever is printed, byte for byte', async () => {
    const sandbox = await create()
    const octal = (bytes: readonly number[]) => bytes.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
    const hex = '0123456789abcdef0123456789abcdef'
    const texts = [
      '',
      'no line end',
      '\x1e',
      `\x1e${hex}`,
      `\x1e${hex}0\n`,
      `text\x1e${hex}0\n\x1e${hex}1\n\x1e`,
      `\x1e${hex.slice(0, 9)}`,
      String.fromCharCode(...Array.from({ length: 256 }, (_, index) => index)),
    ]
    for (const text of texts) {
      const bytes = Buffer.from(text, 'latin1')
      const words = octal([...bytes]).join('')
      const chunks: ExecChunk[] = []
      const handle = sandbox.exec({ command: `printf '${words}'; printf '${words}' >&2; exit 7` })
      for await (const chunk of handle.output) chunks.push(chunk)
      for (const stream of ['stdout', 'stderr']) {
        const data = chunks.filter((chunk) => chunk.stream === stream).map((chunk) => chunk.data)
        assert.deepEqual(Buffer.concat(data), bytes)
      }
      assert.equal((await handle.exit).code, 7)
    }
    await sandbox.destroy()
  })

  test('gives a command nothing of the one before', async () => {
    const sandbox = await create()
    const tell = 'umask; pwd; echo "[$ONE][$TWO]$-"; ulimit -c; jobs; trap; ls /proc/self/fd'
    const before = await run(sandbox, tell)
    await run(sandbox, 'cd /; umask 077; export ONE=1; set -f; trap "" TERM; exec 5>/tmp/five; alias ls=x', {
      env: { TWO: '2' },
      cwd: '/tmp',
    })
    assert.deepEqual(await run(sandbox, tell), before)
    assert.match(before.stdout, /^0022\n\S*\/workspace\n\[\]\[\]/)
    await sandbox.destroy()
  })

  test('takes any value of a variable, and scripts of every length', async () => {
    const sandbox = await create()
    const value = `'single' "double" \`back\` $HOME \\ \t\n\n second line\r\n ünï 日本 🎉 \x01\x7f ${"'".repeat(9)}\n`
    const env = { ONE: value, _two: '', IFS: ',', SECONDS: 'x', LC_ALL: 'no_SUCH', CDPATH: '/' }
    for (const variables of [{ ONE: value }, env]) {
      const { stdout, stderr } = await run(sandbox, 'printf %s "$ONE"', { env: variables })
      assert.equal(stdout, value)
      assert.equal(stderr.includes('readonly'), false)
    }
    for (const length of [1_000, 8_000, 15_900, 16_100, 20_000, 95_000, 99_000, 140_000]) {
      const text = 'aé\n'.repeat(length / 4)
      const { stdout } = await run(sandbox, `cat <<'END'\n${text}END`)
      assert.equal(stdout, text)
    }
    await sandbox.destroy()
  })

  test('tells how a command ended, and says nothing of its own', async () => {
    const sandbox = await create()
    for (const code of [0, 1, 2, 126, 127, 129, 200, 255])
      assert.equal((await run(sandbox, `exit ${code}`)).exit.code, code)
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGINT', 'SIGABRT', 'SIGPIPE']) {
      const { exit, stdout, stderr } = await run(sandbox, `kill -${signal.slice(3)} $$`)
      assert.deepEqual([exit.code, exit.signal, stdout, stderr], [null, signal, '', ''])
    }
    assert.equal((await run(sandbox, 'true', { cwd: '/no/such/place' })).exit.code, 126)
    assert.equal((await run(sandbox, 'pwd', { cwd: '/' })).stdout, '/\n')
    await sandbox.destroy()
  })

  test('keeps what a command left running out of the next one', async () => {
    const sandbox = await create()
    const seconds = uniqueSeconds()
    const handle = sandbox.exec({ command: '(sleep 0.3; echo late) & echo early' })
    let text = ''
    for await (const { data } of handle.output) text += Buffer.from(data).toString()
    assert.equal(text, background_processes ? 'early\nlate\n' : 'early\n')
    assert.equal((await handle.exit).code, 0)
    for (let index = 0; index < 3; index++) {
      const left = await run(sandbox, `setsid sleep ${seconds} > /dev/null 2>&1 < /dev/null & exit 4`)
      assert.deepEqual([left.exit.code, left.stdout, left.stderr], [4, '', ''])
      assert.equal((await run(sandbox, 'echo next')).stdout, 'next\n')
    }
    // The end of another command is not theirs.
    const other = await run(sandbox, 'sleep 30', { timeout_ms: 300 })
    assert.equal(other.exit.timed_out, true)
    const left = background_processes ? 3 : 0
    await eventually(`${left} are left`, () => processesWith(seconds).length === left)
    await sandbox.destroy()
  })

  test('goes on after a command that kills whatever it can', {
    skip: isolation === 'none' && 'it would be everything of the user',
  }, async () => {
    const sandbox = await create()
    for (const murder of ['kill -9 -1', 'kill -9 $PPID', 'kill 0', 'kill -9 -1; kill -9 $$'])
      for (let index = 0; index < 3; index++) {
        const handle = sandbox.exec({ command: murder, timeout_ms: 20_000 })
        assert.equal((await handle.exit).timed_out, false, murder)
        const next = await run(sandbox, 'echo usable')
        assert.deepEqual([next.stdout, next.stderr, next.exit.code], ['usable\n', '', 0], murder)
      }
    await sandbox.destroy()
  })
}

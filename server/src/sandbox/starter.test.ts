import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { runProgram } from './run-program.ts'
import { SandboxFault } from './sandbox.ts'
import { connectNetwork } from './sandbox-network.ts'
import { startProgram } from './starter.ts'

/** The shell that starts programs for this process. */
const findStarter = (): number => {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  })
  return Number.parseInt(children.split('\n').find((line) => line.endsWith('/bin/sh -s')) ?? '', 10)
}

const zombiesOf = (pid: number): string =>
  spawnSync('ps', ['-o', 'stat=', '--ppid', String(pid)], { encoding: 'utf8' }).stdout.replaceAll(/[^Z]/g, '')

test('a program gets its words as they are, and says how it ended', async () => {
  const words = ['two words', "it's", 'two\nlines', '$HOME `id` "\\', '', '; exit 7 #']
  assert.deepEqual(await runProgram(['printf', '%s|', ...words]), {
    ...{ code: 0, signal: null, stderr: '' },
    stdout: `${words.join('|')}|`,
  })
  const failing = await runProgram(['/bin/sh', '-c', 'echo no >&2; exit 3'])
  assert.deepEqual(failing, { code: 3, signal: null, stdout: '', stderr: 'no\n' })
  assert.equal((await runProgram(['/bin/sh', '-c', 'kill -9 $$'])).signal, 'SIGKILL')
  assert.equal((await runProgram(['/nowhere/at-all'])).code, 127)
})

test('a program has its descriptors, an empty input, a session of its own and no key of the service', async () => {
  process.env.RUNYARD_TEST_KEY = 'canary'
  const seen = await runProgram(['/bin/sh', '-c', 'cat; ls -l /proc/self/fd; ps -o sid= -p $$; echo $$; env'])
  delete process.env.RUNYARD_TEST_KEY
  assert.doesNotMatch(seen.stdout, /canary/)
  const descriptors = [...seen.stdout.matchAll(/ (\d+) -> (\S+)/g)].map(([, number, to = '']) => [
    number,
    to.split(':')[0],
  ])
  assert.deepEqual(
    descriptors
      .filter(([number, to]) => Number(number) < 10 && !to?.startsWith('/proc/'))
      .map(([number]) => number),
    ['0', '1', '2'],
  )
  const [sid, pid] = seen.stdout
    .split('\n')
    .filter((line) => /^ *\d+$/.test(line))
    .map(Number)
  assert.equal(sid, pid)
})

test('the signal kills a program and what it started', async () => {
  const over = new AbortController()
  const running = runProgram(['/bin/sh', '-c', 'sleep 60 & wait'], over.signal)
  setImmediate(() => over.abort())
  await assert.rejects(running, SandboxFault)
  await assert.rejects(runProgram(['true'], AbortSignal.abort()), SandboxFault)
})

test('a program is killed however far it has come: until it has a session, there is none to kill', async () => {
  const ends = Array.from({ length: 20 }, async () => {
    const { kill, ended } = await startProgram(['sleep', '60'])
    kill()
    return (await ended).signal
  })
  assert.deepEqual([...new Set(await Promise.all(ends))], ['SIGKILL'])
})

test('a program that cannot be given a descriptor does not start', async () => {
  await assert.rejects(startProgram(['true'], [{ at: 1, ours: 9999, mode: 'write' }]), SandboxFault)
})

test('what ended leaves no zombie, however much there was', async () => {
  await Promise.all(Array.from({ length: 50 }, () => runProgram(['true'])))
  await runProgram(['true'])
  assert.equal(zombiesOf(findStarter()), '')
})

test('when the shell is killed, its programs fail with a fault, and the next program starts', async () => {
  const { kill, ended } = await startProgram(['sleep', '60'])
  process.kill(findStarter(), 'SIGKILL')
  await assert.rejects(ended, SandboxFault)
  kill()
  assert.equal((await runProgram(['true'])).code, 0)
})

test('a network that cannot be started leaves no descriptor open', async () => {
  const network = { as_root: false, slirp4netns: 'sleep', unshare: '', setpriv: '' }
  const count = () => readdirSync('/proc/self/fd').length
  const before = count()
  // Five pipes each time: in the end as many are spare as before.
  for (let round = 0; round < 48; round++) {
    await runProgram(['true'])
    process.kill(findStarter(), 'SIGKILL')
    await assert.rejects(connectNetwork(network, process.pid, null), SandboxFault)
  }
  assert.ok(count() - before < 24, `${count() - before} more are open`)
})

test('a program whose watcher is killed has failed', async () => {
  const { pid, ended } = await startProgram(['setpriv', '--pdeathsig', 'KILL', 'sleep', '60'])
  const watcher = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  process.kill(watcher, 'SIGKILL')
  await assert.rejects(ended, SandboxFault)
  assert.equal((await runProgram(['true'])).code, 0)
})

test('what is left of a program dies at its end, and nobody who has its number later', async (t) => {
  const leaving = await runProgram(['/bin/sh', '-c', 'sleep 60 & echo $!'])
  assert.equal(leaving.code, 0)
  const { kill, ended } = await startProgram(['true'])
  await ended
  const sent = t.mock.method(process, 'kill')
  kill()
  assert.equal(sent.mock.callCount(), 0)
})

test('where the machine has no process left, the one program fails and the others go on', () => {
  const script = `
    import assert from 'node:assert/strict'
    import { execFileSync } from 'node:child_process'
    import { SandboxFault } from ${JSON.stringify(new URL('./sandbox.ts', import.meta.url).href)}
    import { startProgram } from ${JSON.stringify(new URL('./starter.ts', import.meta.url).href)}
    // Root has no such limit.
    if (process.getuid() === 0) for (const set of ['setgid', 'setuid']) process[set](61_234)
    const { pid, kill } = await startProgram(['sleep', '60'])
    const shell = execFileSync('pgrep', ['-P', process.pid, '-f', '^/bin/sh -s']).toString().trim()
    const limit = (processes) => execFileSync('prlimit', ['--pid', shell, '--nproc=' + processes + ':'])
    const before = execFileSync('prlimit', ['--pid', shell, '--nproc', '--output=SOFT', '--noheadings'])
    limit(1)
    await assert.rejects(startProgram(['true']), SandboxFault)
    limit(before.toString().trim())
    assert.equal((await (await startProgram(['true'])).ended).code, 0)
    process.kill(pid, 0)
    kill()`
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    ...{ cwd: '/', encoding: 'utf8', timeout: 60_000 },
  })
  assert.equal(child.status, 0, child.stderr)
})

test('a program that asked for it dies with the service, whatever killed that', async () => {
  const script = `
    import { readFileSync } from 'node:fs'
    import { setImmediate } from 'node:timers/promises'
    import { startProgram } from ${JSON.stringify(new URL('./starter.ts', import.meta.url).href)}
    const { pid } = await startProgram(['setpriv', '--pdeathsig', 'KILL', 'sleep', '60'])
    console.log(pid)
    while (!readFileSync(\`/proc/\${pid}/comm\`, 'utf8').startsWith('sleep')) await setImmediate()
    process.kill(process.pid, 'SIGKILL')`
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  })
  assert.equal(signal, 'SIGKILL')
  const isThere = () => {
    try {
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${Number(stdout)}/status`, 'utf8'))
    } catch {
      return false
    }
  }
  for (const since = Date.now(); isThere(); await new Promise((resolve) => setTimeout(resolve, 10)))
    assert.ok(Date.now() - since < 10_000, 'it still runs')
})

test('what nobody waits for keeps no process from its end', () => {
  const script = `
    import { startProgram } from ${JSON.stringify(new URL('./starter.ts', import.meta.url).href)}
    const { keepAwake } = await startProgram(['sleep', '60'])
    keepAwake(false)`
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 60_000 })
  assert.equal(child.status, 0)
})

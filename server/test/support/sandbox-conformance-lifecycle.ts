import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { SandboxRef } from '../../src/sandbox/sandbox.ts'
import { LONG } from './once.ts'
import {
  eventually,
  processesWith,
  run,
  type Subject,
  startElsewhere,
  uniqueSeconds,
} from './sandbox-conformance.ts'

const OUTLIVE = readFileSync(new URL('./outlive.pl', import.meta.url), 'utf8')

export function testLifecycle(subject: Subject): void {
  const { backend, create, spec } = subject

  test('another process freezes and thaws a sandbox by its ref', async () => {
    const sandbox = await create()
    assert.equal(backend.capabilities.pause, true)
    const handle = sandbox.exec({
      command: 'while [ ! -e stop ]; do echo tick; sleep 0.02; done',
      max_output_bytes: Number.POSITIVE_INFINITY,
    })
    let ticks = 0
    const reading = (async () => {
      for await (const _ of handle.output) ticks++
    })()
    await eventually('the command ticks', () => ticks > 3)
    await subject.elsewhere({ action: 'freeze', ref: sandbox.ref })
    // Absence takes watching: once it is quiet it has to stay quiet for many times the ticking's pace.
    await eventually('the ticking stops', async () => {
      const before = ticks
      await delay(300)
      return ticks === before
    })
    const quiet = ticks
    await subject.elsewhere({ action: 'thaw', ref: sandbox.ref })
    await eventually('the command ticks again', () => ticks > quiet + 3)
    await sandbox.writeFile('stop', '')
    await reading
    assert.equal((await handle.exit).code, 0)
    await sandbox.destroy()
  })

  test('a frozen sandbox holds nobody up: a command started in it times out, and runs again once thawed', async () => {
    const sandbox = await create()
    await backend.freeze?.(sandbox.ref)
    const { exit } = await run(sandbox, 'sleep 60', { timeout_ms: 200 })
    assert.equal(exit.timed_out, true)
    await backend.thaw?.(sandbox.ref)
    assert.equal((await run(sandbox, 'echo thawed')).stdout, 'thawed\n')
    await sandbox.destroy()
  })

  test('killing what runs in a frozen sandbox leaves nothing that a thaw could wake', async () => {
    const sandbox = await create()
    const seconds = uniqueSeconds()
    const handle = sandbox.exec({ command: `sleep ${seconds}` })
    await eventually('it runs', () => processesWith(seconds).length > 0)
    await backend.freeze?.(sandbox.ref)
    await sandbox.killAll()
    assert.deepEqual(processesWith(seconds), [])
    await handle.exit
    await backend.thaw?.(sandbox.ref)
    assert.equal((await run(sandbox, 'echo usable')).stdout, 'usable\n')
    await sandbox.destroy()
  })

  test('what runs is held and goes on, what is started meanwhile runs, and what is held can be killed', async () => {
    const sandbox = await create()
    const seconds = uniqueSeconds()
    const handle = sandbox.exec({
      // Detached ones, too.
      command: `(setsid sh -c 'while :; do echo >> ticks; sleep 0.02; done; exec sleep ${seconds}' &); sleep ${seconds}`,
    })
    const ticks = async (): Promise<number> => (await sandbox.stat('ticks'))?.size ?? 0
    await eventually('the command ticks', async () => (await ticks()) > 3)
    const goOn = await sandbox.hold()
    const held = await ticks()
    assert.equal((await run(sandbox, 'sleep 0.3; echo beside it')).stdout, 'beside it\n')
    assert.equal(await ticks(), held)
    await goOn()
    await eventually('the command ticks again', async () => (await ticks()) > held)
    await sandbox.hold()
    await sandbox.killAll()
    await eventually('no process is left', () => processesWith(seconds).length === 0)
    assert.equal((await handle.exit).signal, 'SIGKILL')
    assert.equal((await run(sandbox, 'echo fine')).stdout, 'fine\n')
    await sandbox.destroy()
  })

  test('another process kills a sandbox by its ref, a frozen one too; its workspace stays', async () => {
    // Where it is frozen there is more to do.
    for (const frozen of LONG ? [false, true] : [true]) {
      const request = spec()
      const sandbox = await backend.create(request)
      const seconds = uniqueSeconds()
      await sandbox.writeFile('kept', 'yes')
      const handle = sandbox.exec({ command: `setsid sleep ${seconds} & sleep ${seconds}` })
      await eventually('the command runs', () => processesWith(seconds).length >= 2)
      if (frozen) await backend.freeze?.(sandbox.ref)
      await subject.elsewhere({ action: 'kill', ref: sandbox.ref })
      await eventually('no process is left', () => processesWith(seconds).length === 0)
      assert.equal((await handle.exit).signal, 'SIGKILL')
      const again = await backend.attach(request)
      assert.equal(String(await again?.readFile('kept')), 'yes')
      await sandbox.destroy()
    }
  })

  const outlives = process.arch === 'x64' && backend.capabilities.isolation !== 'none'
  test('a command that frees its ancestors of their parent-death signal ends with its timeout all the same', {
    skip: outlives ? false : 'the registers are those of x86_64',
  }, async () => {
    const sandbox = await create()
    await sandbox.writeFile('/tmp/outlive.pl', OUTLIVE)
    const seconds = uniqueSeconds()
    const { exit, stdout } = await run(sandbox, `perl /tmp/outlive.pl ${seconds}; sleep ${seconds}`, {
      timeout_ms: 3_000,
    })
    assert.equal(exit.timed_out, true)
    // A container's process 1 belongs to another user and cannot be reached at all.
    assert.match(stdout, /^(free|not free: attach 1: )/)
    await eventually('no process is left', () => processesWith(seconds).length === 0)
    await sandbox.destroy()
  })

  test('nor does it outlive the one who started it, once the warden or the next owner ends the sandbox', {
    skip: outlives ? false : 'the registers are those of x86_64',
  }, async () => {
    // The next owner, the test after this one has.
    for (const end of LONG ? (['kill', 'attach'] as const) : (['kill'] as const)) {
      const first = spec()
      const seconds = uniqueSeconds()
      const command = `cat > /tmp/outlive.pl <<'EOF'\n${OUTLIVE}EOF\nperl /tmp/outlive.pl ${seconds}; echo ready; sleep ${seconds}`
      const creator = await startElsewhere(subject, { action: 'hold', spec: first, command })
      await eventually('both processes run', () => processesWith(seconds).length >= 2)
      process.kill(creator.pid, 'SIGKILL')
      await creator.killed
      if (end === 'kill') await backend.kill(JSON.parse(creator.line))
      else assert.ok(await backend.attach({ ...first, attempt: 2 }))
      await eventually('no process is left', () => processesWith(seconds).length === 0)
    }
  })

  test('attach after the creator was killed keeps the workspace; no process survives', async () => {
    const first = spec()
    const seconds = uniqueSeconds()
    const command = `echo kept > file; echo home > "$HOME/.runyard-test"; (setsid sleep ${seconds} &); echo ready; sleep ${seconds}`
    const creator = await startElsewhere(subject, { action: 'hold', spec: first, command })
    const old: SandboxRef = JSON.parse(creator.line)
    await eventually('both processes run', () => processesWith(seconds).length >= 2)
    process.kill(creator.pid, 'SIGKILL')
    await creator.killed
    // Where processes may outlive a command it is the warden who ends them, here and now by the next attempt.
    if (!backend.capabilities.background_processes)
      await eventually('its processes died with it', () => processesWith(seconds).length === 0)
    const sandbox = await backend.attach({ ...first, attempt: 2 })
    assert.ok(sandbox)
    await eventually('no process is left', () => processesWith(seconds).length === 0)
    assert.equal(
      (await run(sandbox, 'cat file "$HOME/.runyard-test"; rm "$HOME/.runyard-test"')).stdout,
      'kept\nhome\n',
    )

    // The first attempt has lost it: it can neither kill, freeze, run nor destroy.
    const line = new PassThrough()
    const handle = sandbox.exec({ command: 'echo ready; read line; echo "$line"', stdin: line })
    await backend.freeze?.(old)
    await backend.kill(old)
    await backend.destroy(old)
    assert.equal(await backend.attach(first), null)
    line.end('alive\n')
    let text = ''
    for await (const { data } of handle.output) text += Buffer.from(data).toString()
    assert.equal(text, 'ready\nalive\n')
    assert.deepEqual(
      (await backend.list()).filter(({ ref }) => ref.run_id === first.run_id).map(({ ref }) => ref),
      [sandbox.ref],
    )
    await sandbox.destroy()
  })

  test('an owner who was overtaken runs nothing more', async () => {
    const request = spec()
    const old = await backend.create(request)
    await old.writeFile('file', 'old')
    const sandbox = await backend.attach({ ...request, attempt: 2 })
    assert.ok(sandbox)
    await assert.rejects(old.exec({ command: 'echo new > file' }).exit, { name: 'SandboxFault' })
    await assert.rejects(old.writeFile('file', 'new'))
    assert.equal(String(await sandbox.readFile('file')), 'old')
    await sandbox.destroy()
  })

  test('of attempts that attach at once the last one owns the sandbox', async () => {
    const request = spec()
    const first = await backend.create(request)
    await first.writeFile('file', 'kept')
    const attempts = [5, 3, 4, 2]
    const owners = await Promise.all(attempts.map((attempt) => backend.attach({ ...request, attempt })))
    const last = owners[0]
    assert.ok(last)
    assert.equal(String(await last.readFile('file')), 'kept')
    const [info] = (await backend.list()).filter(({ ref }) => ref.run_id === request.run_id)
    assert.equal(info?.ref.attempt, 5)
    await last.destroy()
  })

  test('destroy is idempotent and final', async () => {
    const request = spec()
    const sandbox = await backend.create(request)
    await run(sandbox, 'mkdir -p closed/in; chmod 500 closed/in closed; ln -s / root')
    await sandbox.destroy()
    await sandbox.destroy()
    await backend.destroy(sandbox.ref)
    await assert.rejects(sandbox.exec({ command: 'true' }).exit, { name: 'SandboxFault' })
    assert.equal(await backend.attach({ ...request, attempt: 2 }), null)
    assert.deepEqual(
      (await backend.list()).filter(({ ref }) => ref.run_id === request.run_id),
      [],
    )
  })

  test('attach finds nothing where nothing was made; create replaces an earlier attempt only', async () => {
    const request = spec()
    assert.equal(await backend.attach(request), null)
    const first = await backend.create(request)
    await first.writeFile('file', 'old')
    await assert.rejects(backend.create(request), { name: 'SandboxFault' })
    const second = await backend.create({ ...request, attempt: 2 })
    assert.equal(await second.stat('file'), null)
    await assert.rejects(backend.create(request), { name: 'SandboxFault' })
    await second.destroy()
  })

  test('lists the sandboxes of its installation with their age', async () => {
    const before = Date.now()
    const made = await Promise.all([create(), create()])
    const listed = await backend.list()
    for (const { ref } of made) {
      const info = listed.find((other) => other.ref.id === ref.id)
      assert.deepEqual(info?.ref, ref)
      // Docker tells whole seconds.
      assert.ok(info.created_at >= before - 1000 && info.created_at <= Date.now())
    }
    await Promise.all(made.map((sandbox) => sandbox.destroy()))
  })
}

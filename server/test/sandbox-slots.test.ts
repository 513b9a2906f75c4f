/** The slots of a Docker sandbox, which its own processes can write into. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connectEngine } from '../src/sandbox/docker-engine.ts'
import { DEFAULT_LIMITS, type Sandbox, type SandboxBackend } from '../src/sandbox/sandbox.ts'
import { makeImage, removeImage } from './support/docker-images.ts'
import { whyNoDocker } from './support/machine.ts'
import { onlyLong } from './support/once.ts'
import { openBackend } from './support/sandbox-backends.ts'
import { eventually, run } from './support/sandbox-conformance.ts'

const undocked = whyNoDocker()

/** The slots but the one that runs this. */
const SLOTS = `for pid in $(grep -lsa runyard_alone /proc/[0-9]*/cmdline | cut -d/ -f3 | grep -vx -e $$ -e $PPID); do
  if grep -qsa ^/bin/sh /proc/$pid/cmdline; then echo $pid; fi
done`
/** A shell that never begins what it reads, and says what nobody asked for. */
const MUTE = `
cp /usr/bin/dash /usr/bin/honest
cat > /mute <<'END'
#!/usr/bin/perl
if (join(" ", @ARGV) =~ /runyard_alone/) { $| = 1; print "0" x 100 while WORD; sleep 1000 }
exec "/usr/bin/honest", @ARGV;
END
chmod 755 /mute
mv /mute /usr/bin/dash`

/** What `pkill -f` does to those in whose arguments the word stands. */
const PKILL = `perl -e '
  for (</proc/[0-9]*>) {
    my ($pid) = /(\\d+)/;
    open(my $file, "$_/cmdline") or next;
    kill TERM => $pid if $pid != $$ and join("", <$file>) =~ /$ARGV[0]/;
  }'`
const NONBLOCKING = `perl -MFcntl -e 'fcntl($_, F_SETFL, O_WRONLY | O_NONBLOCK) for *STDOUT, *STDERR'`

/** Takes all the processes there may be. */
const FILL = `perl -e '$| = 1; for (1 .. 100) { my $pid = fork; last unless defined $pid; sleep 60, exit if !$pid } print "full"; sleep 60'`

/** Ends whoever stops the others before it can say that it did. */
const CUT = `echo 'case $runyard_command in "kill -STOP"*) kill -STOP -1; exit 1; esac' > /cut`

describe('slots of a Docker sandbox', { skip: undocked }, () => {
  let backend: SandboxBackend
  let sandbox: Sandbox
  const create = (image?: string, pids = DEFAULT_LIMITS.pids) =>
    backend.create({
      ...{ run_id: randomUUID(), attempt: 1, limits: { ...DEFAULT_LIMITS, pids }, egress: 'none', env: {} },
      ...(image === undefined ? {} : { image }),
    })
  /** Of the shell that runs a command. */
  const parent = async () => (await run(sandbox, 'echo $PPID')).stdout.trim()
  /** More commands at once than slots wait, so that each of these gets one. */
  const together = (work: () => Promise<void>) => Promise.all(Array.from({ length: 5 }, work))
  /** Another slot waits beside the one that is used. */
  const ready = () =>
    eventually('a slot waits', async () => Number((await run(sandbox, `${SLOTS} | wc -l`)).stdout) > 0)
  /** Freezes while the engine starts commands, until it does not say any more how the container stands. */
  const stick = async ({ ref }: Sandbox): Promise<boolean> => {
    const docker = await connectEngine({})
    const [{ Id } = { Id: '' }] = await docker.listContainers({
      filters: JSON.stringify({ label: [`runyard.sandbox=${ref.id}`] }),
    })
    const container = docker.getContainer(Id)
    const words = { Cmd: ['/bin/true'], AttachStdin: true, AttachStdout: true }
    for (let tries = 0; tries < 20; tries += 1) {
      const exec = await container.exec(words)
      exec.start({ hijack: true, stdin: true }).then(
        (stream) => stream.resume(),
        () => {},
      )
      await delay(10 + 2 * tries)
      await backend.freeze?.(ref)
      const says = container.inspect({ abortSignal: AbortSignal.timeout(1_000) })
      if (!(await says.catch(() => null))) return true
      await backend.thaw?.(ref)
    }
    return false
  }
  before(async () => {
    backend = await openBackend('docker', { data_dir: '/nowhere', installation_id: randomUUID() })
    sandbox = await create()
  })
  after(async () => {
    for (const { ref } of await backend.list()) await backend.destroy(ref)
  })

  test('run one command after another', async () => {
    const parents = new Set<string>()
    for (let index = 0; index < 20; index++) parents.add(await parent())
    assert.ok(parents.size <= 2, [...parents].join(' '))
    // Where something is left of a command, its slot is not used again.
    const spent = (await run(sandbox, 'echo $PPID; sleep 60 > /dev/null 2>&1 < /dev/null &')).stdout.trim()
    for (let index = 0; index < 5; index++) assert.notEqual(await parent(), spent)
  })

  test('are few', async () => {
    await Promise.all(Array.from({ length: 10 }, () => run(sandbox, 'sleep 0.2')))
    const count = async () => (await run(sandbox, `${SLOTS} | wc -l`)).stdout.trim()
    await eventually('no more wait than are needed', async () => Number(await count()) <= 4)
  })

  test('give each command outputs that block', async () => {
    for (const output of ['1', '2']) {
      assert.equal((await run(sandbox, NONBLOCKING)).exit.code, 0)
      const loud = `head -c 3000000 /dev/zero | cat >&${output}`
      const { exit, stdout, stderr } = await run(sandbox, loud, { timeout_ms: 10_000 })
      assert.deepEqual([exit.code, (stdout + stderr).replaceAll('\0', '')], [0, ''])
    }
  })

  test('keep the text of a command out of what pkill -f looks at', async () => {
    for (const input of [{}, { stdin: 'something' }]) {
      const command = `${PKILL} no-such-server; env | grep -c runyard_; echo $# alive`
      const { exit, stdout } = await run(sandbox, command, input)
      assert.deepEqual([exit.code, stdout], [0, '0\n0 alive\n'])
    }
  })

  test('outlive signals that a command sends to its process group', async () => {
    const { exit, stdout } = await run(sandbox, 'trap "echo told" TERM; kill -TERM 0; echo on; exit 7')
    assert.deepEqual([exit.code, stdout], [7, 'told\non\n'])
    assert.equal((await run(sandbox, 'kill -TERM 0; echo on')).exit.signal, 'SIGTERM')
  })

  test('that others write into are not used again', async () => {
    for (const [stream, words] of [
      ['1', 'printf "junk%s" "$(head -c 3000 /dev/zero | tr "\\0" x)"'],
      ['2', 'echo junk'],
      ['1', "printf '\\0360123456789abcdef0123456789abcdef0\\n'"],
      ['0', 'echo loop 00000000; echo "echo junk"'],
      ['0', 'echo junk'],
    ]) {
      await ready()
      await run(sandbox, `for pid in $(${SLOTS}); do (${words}) > /proc/$pid/fd/${stream}; done`)
      for (let index = 0; index < 3; index++) {
        await together(async () => {
          const { exit, stdout, stderr } = await run(sandbox, 'echo one; echo two >&2; exit 3')
          assert.deepEqual([stdout, exit.code], ['one\n', 3], `${stream} ${words}`)
          // What others write into one that has just been given a command may stand before the command's own.
          assert.ok(stderr.endsWith('two\n'), stderr)
        })
      }
    }
  })

  test('that stand still are killed, and their commands run without them', async () => {
    await ready()
    await run(sandbox, `for pid in $(${SLOTS}); do kill -STOP $pid; done`)
    await together(async () => {
      const { exit, stdout } = await run(sandbox, 'echo done')
      assert.deepEqual([stdout, exit.code], ['done\n', 0])
    })
  })

  test('wait while the container is frozen; an abort does not', async () => {
    await parent()
    await backend.freeze?.(sandbox.ref)
    const waiting = run(sandbox, 'echo thawed')
    const aborted = await run(sandbox, 'touch late', { signal: AbortSignal.timeout(100) })
    assert.equal(aborted.exit.aborted, true)
    await backend.thaw?.(sandbox.ref)
    assert.equal((await waiting).stdout, 'thawed\n')
    // Nor does it begin when its caller has been told that it did not.
    await delay(300)
    assert.equal((await run(sandbox, 'ls')).stdout, '')
  })

  test('do not begin at the thaw what was given up while the container was frozen', async () => {
    await ready()
    await parent()
    await backend.freeze?.(sandbox.ref)
    const { exit } = await run(sandbox, ': > late', { signal: AbortSignal.timeout(100) })
    assert.equal(exit.aborted, true)
    await backend.thaw?.(sandbox.ref)
    for (let index = 0; index < 5; index++) assert.equal((await run(sandbox, 'ls')).stdout, '')
  })

  test('begin what was refused while the container was frozen', async () => {
    for (let index = 0; index < 10; index++) {
      // No slot is being started now: an engine that freezes a container meanwhile may never thaw it.
      await parent()
      await backend.freeze?.(sandbox.ref)
      const commands = Array.from({ length: 3 }, () => run(sandbox, 'cat', { stdin: 'thawed' }))
      await delay(2 * index)
      await backend.thaw?.(sandbox.ref)
      for (const { stdout, exit } of await Promise.all(commands))
        assert.deepEqual([stdout, exit.code], ['thawed', 0])
    }
  })

  test('and the container thaw, and end, where the engine is stuck in a command that was frozen as it was started', {
    skip: process.getuid?.() === 0 ? false : 'only root can help the engine',
  }, async () => {
    const froze = await create()
    for (const action of ['thaw', 'kill'] as const) {
      // Until the thaw; a kill has all the time it takes on a busy machine.
      const left = run(froze, `sleep ${action === 'thaw' ? 0.3 : 60}; echo left`)
      assert.equal(await stick(froze), true)
      await backend.freeze?.(froze.ref)
      await backend[action]?.(froze.ref)
      assert.equal((await left).stdout, action === 'thaw' ? 'left\n' : '')
      if (action === 'thaw') assert.equal((await run(froze, 'echo on', { timeout_ms: 5_000 })).stdout, 'on\n')
    }
    await froze.destroy()
  })

  onlyLong(
    'and commands beside them end as killed, without the engine’s words, where the container is killed',
    async () => {
      const full = await create(undefined, 32)
      const filling = full.exec({ command: FILL })
      for await (const _ of filling.output) break
      const commands: Array<ReturnType<typeof run>> = []
      const begin = async (rounds: number) => {
        for (let index = 0; index < rounds; index++) {
          for (let each = 0; each < 3; each++) commands.push(run(full, 'echo hello'))
          await delay(40)
        }
      }
      await begin(5)
      // No room for a killer: the container goes, and is started anew.
      await Promise.all([full.killAll(), begin(30)])
      for (const { exit, stdout } of await Promise.all(commands)) {
        assert.notEqual(exit.code, 126)
        assert.match(stdout, /^(hello\n)?$/)
      }
      assert.equal((await run(full, 'echo again')).stdout, 'again\n')
      await full.destroy()
    },
  )

  test('go on where stopping them failed half-way', async () => {
    const image = makeImage(CUT, ['ENV BASH_ENV=/cut'])
    try {
      const cut = await create(image)
      const running = run(cut, 'touch begun; sleep 2; echo done', { timeout_ms: 30_000 })
      await eventually('it runs', async () => (await run(cut, 'ls')).stdout === 'begun\n')
      await assert.rejects(cut.hold(), /could not be stopped/)
      assert.equal((await running).stdout, 'done\n')
      await cut.destroy()
    } finally {
      removeImage(image)
    }
  })

  onlyLong('of an image whose shell is none are given up', async () => {
    for (const word of ['0', '1']) {
      const image = makeImage(MUTE.replace('WORD', word))
      try {
        const mute = await create(image)
        for (let index = 0; index < 4; index++)
          assert.equal((await run(mute, `echo ${index}`)).stdout, `${index}\n`)
        await run(mute, 'true')
        await mute.destroy()
      } finally {
        removeImage(image)
      }
    }
  })
})

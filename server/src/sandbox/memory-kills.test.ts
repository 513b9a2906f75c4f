import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitVariables, MemoryKills, readMemoryKills } from './memory-kills.ts'

test('kills for memory are read from both versions of control groups', () => {
  assert.equal(readMemoryKills('oom_kill_disable 0\nunder_oom 0\noom_kill 3\n'), 3)
  assert.equal(readMemoryKills('low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n'), 1)
  // Before Linux 4.13 nobody counted, and other runtimes have no such file.
  assert.equal(readMemoryKills('oom_kill_disable 0\nunder_oom 0\n'), null)
  assert.equal(readMemoryKills(''), null)
})

test('each kill is told once, also behind a container that began anew', async () => {
  let count: number | null = 2
  const kills = new MemoryKills(async () => {
    if (count === -1) throw new Error('gone')
    return count
  }, 1)
  const told: number[] = []
  for (count of [2, 2, null, 5, -1, 1]) told.push(await kills.take())
  assert.deepEqual(told, [1, 0, 0, 3, 0, 1])
})

test('only limits that hold are variables', () => {
  assert.deepEqual(
    limitVariables({ memory_bytes: 2 ** 30, cpus: 1.5, pids: 256, disk_bytes: 10 * 2 ** 30 }),
    {
      RUNYARD_MEMORY_LIMIT_MB: '1024',
      RUNYARD_CPU_LIMIT: '1.5',
      RUNYARD_PROCESS_LIMIT: '256',
      RUNYARD_DISK_LIMIT_MB: '10240',
    },
  )
  assert.deepEqual(limitVariables({ disk_bytes: 2 ** 20 }), { RUNYARD_DISK_LIMIT_MB: '1' })
})

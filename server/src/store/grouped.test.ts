import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Grouped } from './grouped.ts'

/** Work whose groups the test ends. */
function openWork() {
  const groups: Array<{ all: readonly number[]; end: (error?: Error) => Promise<void> }> = []
  const grouped = new Grouped((all: readonly number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<string[]>()
    const end = async (error?: Error) => {
      if (error) reject(error)
      else resolve(all.map((one) => `done ${one}`))
      await new Promise((settled) => setImmediate(settled))
    }
    groups.push({ all, end })
    return promise
  })
  const sizes = () => groups.map(({ all }) => all.length)
  return { grouped, groups, sizes }
}

const refusal = (code: string): Error => Object.assign(new Error(`refused with ${code}`), { code })

test('what comes while two are under way is done together, in its order, at most 32 at a time', async () => {
  const { grouped, groups, sizes } = openWork()
  const results = Array.from({ length: 40 }, (_, place) => grouped.add(place))
  assert.deepEqual(sizes(), [1, 1])
  await groups[0]?.end()
  assert.deepEqual(sizes(), [1, 1, 32])
  await groups[1]?.end()
  assert.deepEqual(sizes(), [1, 1, 32, 6])
  await groups[3]?.end()
  await groups[2]?.end()
  assert.deepEqual(
    await Promise.all(results),
    Array.from({ length: 40 }, (_, place) => `done ${place}`),
  )
  void grouped.add(40)
  assert.deepEqual(sizes(), [1, 1, 32, 6, 1], 'Nothing waits where nothing is under way.')
})

test('a group that is refused is done one by one, and only what is wrong fails', async () => {
  const { grouped, groups, sizes } = openWork()
  const results = Array.from({ length: 5 }, (_, place) => grouped.add(place))
  for (const result of results) result.catch(() => {})
  await groups[0]?.end()
  await groups[2]?.end(refusal('23503'))
  assert.deepEqual(sizes(), [1, 1, 3, 1, 1, 1])
  await groups[3]?.end()
  await groups[4]?.end(refusal('23503'))
  await groups[5]?.end()
  await groups[1]?.end()
  const settled = await Promise.allSettled(results)
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
})

test('a group of which nobody knows whether it is stored is not done again', async () => {
  const { grouped, groups, sizes } = openWork()
  const results = Array.from({ length: 4 }, (_, place) => grouped.add(place))
  for (const result of results) result.catch(() => {})
  await groups[0]?.end()
  await groups[2]?.end(refusal('08006'))
  await groups[1]?.end()
  assert.deepEqual(sizes(), [1, 1, 2])
  const settled = await Promise.allSettled(results)
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
  )
})

test('groups that take long do not keep others from being done', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { grouped, groups, sizes } = openWork()
  const results = Array.from({ length: 5 }, (_, place) => grouped.add(place))
  assert.deepEqual(sizes(), [1, 1])
  t.mock.timers.tick(250)
  assert.deepEqual(sizes(), [1, 1, 3])
  await groups[2]?.end()
  assert.equal(await results[4], 'done 4')
  for (let place = 0; place < 20; place++) {
    void grouped.add(place)
    t.mock.timers.tick(250)
  }
  assert.deepEqual(sizes(), [1, 1, 3, 1, 1, 1, 1], 'At most six are under way.')
  await groups[0]?.end()
  assert.deepEqual(sizes().slice(7), [16])
})

/**
 * An engine that freezes a container while it starts a command in it may be stuck: it waits for that command, which is frozen
 * too, and until then it neither thaws, kills nor removes the container, nor says how it stands. Beside the engine root goes
 * past it, by the container's control group.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type Docker from 'dockerode'
import {
  type Freezer,
  freezeControlGroup,
  isFrozenControlGroup,
  killControlGroup,
  thawControlGroup,
} from './control-group.ts'
import { engineFault, ignoreStatus, readState, statusOf } from './docker-engine.ts'
import { isEngineHere } from './docker-uplinks.ts'
import { SandboxFault } from './sandbox.ts'

const MOUNT = '/sys/fs/cgroup'
const FREEZER = join(MOUNT, 'freezer')
/** Where an engine is in a container itself, its containers' groups are far down. */
const MAX_DEPTH = 8
/** An engine that does not answer for so long is stuck. */
const STUCK_MS = 2_000
/** How often, and how far apart, it is asked whether a container is gone that another call removes. */
const REMOVAL_LOOKS = 100
const REMOVAL_PAUSE_MS = 100

/** Whether it is frozen. Throws what the engine says where that cannot be told. */
export async function isFrozenContainer(docker: Docker, container: Docker.Container): Promise<boolean> {
  const asked = container.inspect()
  const group = (await isAnswered(asked)) ? null : await findFreezer(docker, container)
  return group ? isFrozenControlGroup(group) : (await asked).State.Paused
}

/** Freezes it. Throws what the engine says where it is not frozen. */
export async function freezeContainer(docker: Docker, container: Docker.Container): Promise<void> {
  const freezing = container.pause()
  if (await isAnswered(freezing)) return void (await freezing)
  const group = await findFreezer(docker, container)
  if (group && isFrozenControlGroup(group)) return
  await freezing
}

/** Thaws it. Throws what the engine says where it is not thawed. */
export async function thawContainer(docker: Docker, container: Docker.Container): Promise<void> {
  const thawing = container.unpause()
  if (await isAnswered(thawing)) return void (await thawing)
  const group = await findFreezer(docker, container)
  if (!group) throw new SandboxFault('the Docker engine does not answer')
  thawControlGroup(group)
  // Of what it finds thawed the engine believes that it is frozen, until it has thawed it itself.
  if (!(await container.inspect()).State.Paused) return
  await freezeControlGroup(group)
  await container.unpause()
}

/** Kills all that runs in it, frozen or not. Throws `SandboxFault` unless the engine then says that nothing does. */
export async function stopContainer(docker: Docker, container: Docker.Container): Promise<void> {
  await killBeside(docker, container, ignoreStatus([404, 409], container.kill()))
  if ((await readState(container))?.Running)
    throw new SandboxFault('the Docker engine could not stop the container')
}

/** Kills and removes the container. Throws `SandboxFault` if it is still there afterwards; another caller may have removed it. */
export async function removeContainer(docker: Docker, container: Docker.Container): Promise<void> {
  try {
    await killBeside(docker, container, container.remove({ force: true, v: true }))
  } catch (error) {
    const status = statusOf(error)
    if (status === 404) return
    if (status !== 409) throw engineFault('the Docker engine could not remove the container', error)
    // Somebody else is at it.
    for (let looks = 0; looks < REMOVAL_LOOKS; looks += 1) {
      if ((await readState(container)) === null) return
      await wait(REMOVAL_PAUSE_MS)
    }
    throw engineFault('the Docker engine could not remove the container', error)
  }
}

/** Waits for a call that ends all in the container, and helps it where the engine is stuck. */
async function killBeside<Result>(
  docker: Docker,
  container: Docker.Container,
  call: Promise<Result>,
): Promise<Result> {
  if (await isAnswered(call)) return await call
  const group = await findFreezer(docker, container)
  // What this does not end the call will say.
  if (group) await killControlGroup(group).catch(() => {})
  return await call
}

/** The container's own group; `null` where this process may not use it. */
async function findFreezer(docker: Docker, { id: name }: Docker.Container): Promise<Freezer | null> {
  if (process.getuid?.() !== 0 || !isEngineHere()) return null
  // The list is what such an engine still tells.
  const listed = await docker.listContainers({ all: true })
  const id = listed.find(({ Id, Names }) => Id === name || Names.includes(`/${name}`))?.Id
  if (id === undefined) return null
  const root = existsSync(FREEZER) ? FREEZER : MOUNT
  const path = findFolder(root, id, MAX_DEPTH)
  if (path === null) return null
  return root === FREEZER ? { version: 1, freezer: path } : { version: 2, unified: path }
}

function findFolder(parent: string, id: string, depth: number): string | null {
  const folders = readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const own = folders.find(({ name }) => name.includes(id))
  if (own) return join(parent, own.name)
  if (depth === 0) return null
  for (const { name } of folders) {
    const found = findFolder(join(parent, name), id, depth - 1)
    if (found !== null) return found
  }
  return null
}

/** Whether it is over, in whatever way, before the engine must be taken for stuck. */
async function isAnswered(call: Promise<unknown>): Promise<boolean> {
  const over = new AbortController()
  const answered = call.then(
    () => true,
    () => true,
  )
  const late = wait(STUCK_MS, false, { signal: over.signal }).catch(() => false)
  return await Promise.race([answered, late]).finally(() => over.abort())
}

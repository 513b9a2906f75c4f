import type Docker from 'dockerode'
import { type FileInside, followLinks, readInside, statInside } from './docker-image-files.ts'
import { SandboxImageError, TOOLS_PLACE } from './sandbox.ts'

/** Where a sandbox's user is at home. */
export const HOME = '/home/agent'
export const USER_NAME = 'agent'

/** The files in which programs look up names of users and groups. */
export const ACCOUNT_FILES = ['passwd', 'group'] as const
export type AccountFile = (typeof ACCOUNT_FILES)[number]

/** The engine reads both for every command, so large ones would slow down the engine itself. */
const MAX_BYTES = 256 * 1024
/** Folders in which a container has something else than its image. */
const COVERED = ['/workspace', HOME, '/tmp', '/proc', '/sys', '/dev', TOOLS_PLACE]

/** The accounts that an image has, and where a sandbox's own account can be added to them. */
export interface ImageAccounts {
  /** What each file holds, in Latin-1: bytes as they are. Empty if the image has none. */
  texts: Record<AccountFile, string>
  /** Where each lies in the image, with no link on the way; absent if nothing can be mounted there. */
  targets: Partial<Record<AccountFile, string>>
  /** What commands are run by. */
  shell: '/bin/bash' | '/bin/sh'
}

/** Reads an image's accounts in a container that is never started and has no volumes, where links could lead back. */
export async function readAccounts(container: Docker.Container): Promise<ImageAccounts> {
  const etc = await followLinks(container, '/etc')
  const passwd = await findAccounts(container, 'passwd', etc)
  const group = await findAccounts(container, 'group', etc)
  const bash = await statInside(container, '/bin/bash')
  return {
    // Only once all are known to be ordinary files: the engine opens them to read any file of the image.
    texts: {
      passwd: passwd.file ? await readInside(container, passwd.file) : '',
      group: group.file ? await readInside(container, group.file) : '',
    },
    targets: { ...passwd.targets, ...group.targets },
    shell: bash?.is_executable ? '/bin/bash' : '/bin/sh',
  }
}

async function findAccounts(
  container: Docker.Container,
  name: AccountFile,
  etc: string,
): Promise<{ file: FileInside | null; targets: ImageAccounts['targets'] }> {
  const path = await followLinks(container, `${etc}/${name}`)
  const file = await statInside(container, path)
  // A pipe would hold the engine up for ever, since it reads both for every command.
  if (file && !file.is_ordinary)
    throw new SandboxImageError(`has no ordinary file at /etc/${name}, which sandboxes do not allow`)
  if (file && file.bytes > MAX_BYTES)
    throw new SandboxImageError(
      `has more than ${MAX_BYTES / 1024} KiB in /etc/${name}, which sandboxes do not allow`,
    )
  // Binds are written `source:target:mode`, so a colon would end the path.
  const is_free = !path.includes(':') && !COVERED.some((folder) => path.startsWith(`${folder}/`))
  const is_there = file !== null || path === `/etc/${name}`
  return { file, targets: is_free && is_there ? { [name]: path } : {} }
}

/**
 * The files of a sandbox whose user is `user`: the image's own lines stay, and one of ours is the first, so that it is the
 * one found if the image has the same name or number.
 */
export function makeAccountFiles({ texts, shell }: ImageAccounts, user: number): Record<AccountFile, Buffer> {
  return {
    passwd: Buffer.from(
      `${USER_NAME}:x:${user}:${user}:${USER_NAME}:${HOME}:${shell}\n${texts.passwd}`,
      'latin1',
    ),
    group: Buffer.from(`${USER_NAME}:x:${user}:\n${texts.group}`, 'latin1'),
  }
}

import { randomInt, randomUUID } from 'node:crypto'
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SandboxFault } from './sandbox.ts'
import { NAME_SERVER } from './sandbox-network.ts'
import { findOld, readEntries } from './sandbox-records.ts'
import { makeSeccompFilter } from './seccomp-filter.ts'

/** Users of sandboxes come from here: far from accounts and from the ranges of `/etc/subuid`. */
const FIRST_UID = 0x60000000
const UIDS = 0x10000000
/** Of files that are written aside and renamed into place. */
const DRAFT = /-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What the sandboxes of one place share: files that all of them see, and the users they are given. */
export class BubblewrapShared {
  /** `passwd`, `group`, `gitconfig`, `hosts`, `resolv.conf`, `seccomp.bpf`. */
  readonly files: string
  /** An empty file for each user that is taken, by its number. */
  readonly #users: string

  constructor(root: string) {
    this.files = join(root, 'common')
    this.#users = join(root, 'uids')
  }

  /** Writes the files. `shell` is that of the sandboxes' user. */
  async prepare(shell: string): Promise<void> {
    await mkdir(this.#users, { recursive: true, mode: 0o700 })
    await mkdir(this.files, { recursive: true })
    await chmod(this.files, 0o755)
    const filter = makeSeccompFilter(process.arch)
    if (!filter)
      throw new SandboxFault(`No system call filter for ${process.arch}: bubblewrap is not offered here`)
    const files = {
      passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:${shell}\n`,
      group: 'root:x:0:\nnogroup:x:65534:\nagent:x:1000:\n',
      gitconfig:
        '[user]\n\tname = Runyard agent\n\temail = agent@runyard.invalid\n[init]\n\tdefaultBranch = main\n',
      hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
      'resolv.conf': `nameserver ${NAME_SERVER}\n`,
      'seccomp.bpf': filter,
    }
    for (const [name, content] of Object.entries(files)) {
      // Renamed into place: another process may be starting a command with the old one right now.
      const draft = join(this.files, `${name}-${randomUUID()}`)
      await writeFile(draft, content)
      await chmod(draft, 0o644)
      await rename(draft, join(this.files, name))
    }
  }

  /** A user that no other sandbox of this place has. */
  async takeUser(): Promise<number> {
    for (;;) {
      const uid = FIRST_UID + randomInt(UIDS)
      try {
        await writeFile(this.#fileOf(uid), '', { flag: 'wx' })
        return uid
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      }
    }
  }

  giveBack(uid: number): Promise<void> {
    return rm(this.#fileOf(uid), { force: true })
  }

  async listUsers(): Promise<number[]> {
    return (await readEntries(this.#users)).map(Number)
  }

  /** Gives back those of these users that were taken long ago, and removes old drafts of files; how many they were. */
  async removeLeftovers(unused: readonly number[]): Promise<number> {
    const drafts = (await readEntries(this.files)).filter((name) => DRAFT.test(name))
    const left = [...(await findOld(this.#users, unused.map(String))), ...(await findOld(this.files, drafts))]
    for (const path of left) await rm(path, { force: true })
    return left.length
  }

  #fileOf(uid: number): string {
    return join(this.#users, String(uid))
  }
}

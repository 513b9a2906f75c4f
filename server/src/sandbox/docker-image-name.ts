import { messageOf } from './docker-engine.ts'
import type { RegistryLogin } from './sandbox.ts'

/** Without the public registry, which engines leave out, and without tag and digest. */
export function repositoryOf(image: string): string {
  const [name = ''] = image.split('@')
  return name
    .replace(/:[^/]*$/, '')
    .replace(/^(index\.)?docker\.io\//, '')
    .replace(/^library\//, '')
}

/** As engines take it; the public registry has an address of its own there. */
export const authOf = ({ host, username, password }: RegistryLogin) => ({
  username,
  password,
  serveraddress: host === 'docker.io' ? 'https://index.docker.io/v1/' : host,
})

/** What a registry says, or an engine of it, to those who may not. */
export const isRefusal = (error: unknown): boolean =>
  /unauthori[sz]ed|denied|authentication|no basic auth/i.test(messageOf(error))

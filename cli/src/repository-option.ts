import type { EnvironmentRepository } from '@runyard/client'
import { resolvePath } from './current-process.ts'

export const REPO_FLAGS = '--repo <url[#ref]>'

/**
 * An address and perhaps a ref behind `#`, or a path on the worker's machine, which begins with a slash or a dot: from here when
 * with a dot, as in every other command. The service understands addresses, and refuses what is none.
 */
export function readRepository(text: string): EnvironmentRepository {
  // A ref may hold another one.
  const [, place = '', ref] = /^([^#]*)(?:#(.*))?$/s.exec(text) ?? []
  const is_path = /^(\/|\.{1,2}(\/|$))/.test(place)
  const where = is_path ? { local_path: place.startsWith('.') ? resolvePath(place) : place } : { url: place }
  return { ...where, ...(ref ? { ref } : {}) }
}

/** As it is written behind --repo. */
export const writeRepository = ({ url, local_path, ref }: EnvironmentRepository): string =>
  `${url ?? local_path}${ref === undefined ? '' : `#${ref}`}`

/** `github.com/acme/site`: what two addresses of one repository have in common. */
export const nameRepository = (address: string): string =>
  address
    .trim()
    .replace(/^[a-z+]+:\/\//i, '')
    .replace(/^[^@/]*@/, '')
    .replace(/^([^/:]+):(?!\d+\/)\/*/, '$1/')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .toLowerCase()

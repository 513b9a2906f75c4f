import { textOf } from '../shell/search-value.ts'
import { askPage } from '../shell/session.ts'

/** A program that waits to be logged in. */
export interface DeviceLogin {
  user_code: string
  /** The program's own word. */
  client_name: string
  address: string
  created_at: string
}

/** The code that the program's address brought along, if any. */
export function readDeviceSearch(search: Record<string, unknown>): { code?: string } {
  const code = textOf(search.code)
  return code ? { code } : {}
}

/** Throws where no login with this code waits. */
export async function readLogin(user_code: string, signal: AbortSignal): Promise<DeviceLogin> {
  const path = `web/device-login?${new URLSearchParams({ user_code })}`
  const answer = await askPage('GET', path, { signal, otherwise: 'The code was refused.' })
  return ((await answer.json()) as { login: DeviceLogin }).login
}

export async function answerLogin(user_code: string, grant: boolean): Promise<void> {
  const body = { user_code, grant }
  await askPage('POST', 'web/device-login', { body, otherwise: 'The login could not be answered.' })
}

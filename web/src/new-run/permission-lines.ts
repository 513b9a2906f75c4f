import type { CreateRunParams, PermissionRule } from '@runyard/client'

type AskedRule = NonNullable<NonNullable<CreateRunParams['config']>['permissions']>[number]

/** Rules as the command line has them, one a line: `ask:bash:git push*`. */
export const writePermissions = (rules: readonly AskedRule[] | undefined): string =>
  (rules ?? []).map(writePermission).join('\n')

export const writePermission = ({ action, tool, pattern }: AskedRule): string =>
  [action, tool, ...(pattern === undefined ? [] : [pattern])].join(':')

/** The rules in their order; null where a line is none. */
export function readPermissions(text: string): PermissionRule[] | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const rules = lines.map((line) => {
    const [, action, tool, pattern] = /^(allow|ask|deny):([^:]+)(?::(.+))?$/.exec(line.trim()) ?? []
    if (action === undefined || tool === undefined) return null
    const rule = { action: action as PermissionRule['action'], tool }
    return pattern === undefined ? rule : { ...rule, pattern }
  })
  return rules.every((rule) => rule !== null) ? rules : null
}

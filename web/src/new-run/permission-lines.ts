import type { CreateRunParams, PermissionRule } from '@runyard/client'

type AskedRule = NonNullable<NonNullable<CreateRunParams['config']>['permissions']>[number]

/** Rules as the command line has them, one a line: `ask:bash:git push*`. One that a line would not keep as it is stands as JSON. */
export const writePermissions = (rules: readonly AskedRule[] | undefined): string =>
  (rules ?? []).map(writeLine).join('\n')

function writeLine(rule: AskedRule): string {
  const line = writePermission(rule)
  const [read, ...more] = readPermissions(line) ?? []
  return read && more.length === 0 && writePermission(read) === line && read.tool === rule.tool
    ? line
    : JSON.stringify(rule)
}

export const writePermission = ({ action, tool, pattern }: AskedRule): string =>
  [action, tool, ...(pattern === undefined ? [] : [pattern])].join(':')

/** The rules in their order; null where a line is none. */
export function readPermissions(text: string): PermissionRule[] | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const rules = lines.map((line) => (line.trim().startsWith('{') ? readJson(line) : readLine(line.trim())))
  return rules.every((rule) => rule !== null) ? rules : null
}

function readLine(line: string): PermissionRule | null {
  const [, action, tool, pattern] = /^(allow|ask|deny):([^:]+)(?::(.+))?$/.exec(line) ?? []
  if (action === undefined || tool === undefined) return null
  const rule = { action: action as PermissionRule['action'], tool }
  return pattern === undefined ? rule : { ...rule, pattern }
}

/** What its fields are is for the service to look at. */
function readJson(line: string): PermissionRule | null {
  try {
    return JSON.parse(line) as PermissionRule
  } catch {
    return null
  }
}

import { posix } from 'node:path'
import type { PermissionRule } from '../contract/permission.ts'
import { isRecord } from '../contract/storable-text.ts'
import { matchesWildcard } from './wildcard.ts'

/** What a call is, as rules see it. */
export interface JudgedCall {
  /** Of its tool: its own, and those of ours that do the same. */
  names: readonly string[]
  /** What it is about, in the forms that a pattern may have. */
  texts: readonly string[]
  is_command: boolean
}

export type Verdict = { action: 'allow' } | { action: 'ask' | 'deny'; rule: PermissionRule }

const SEVERITY = { allow: 0, ask: 1, deny: 2 }
/** What joins commands, or hides one in another. */
const OPERATORS = /[;&|\n<>`]|\$\(/

/**
 * Of each set the first rule that fits, of these the strictest; allowed where none fits. `granted`: rules that somebody said
 * need not ask any more.
 */
export function judgeCall(
  sets: ReadonlyArray<readonly PermissionRule[]>,
  call: JudgedCall,
  granted: readonly PermissionRule[] = [],
): Verdict {
  let verdict: Verdict = { action: 'allow' }
  for (const rules of sets) {
    const rule = rules.find((each) => fits(each, call))
    if (!rule || rule.action === 'allow') continue
    if (rule.action === 'ask' && granted.some((each) => isSame(each, rule))) continue
    if (SEVERITY[rule.action] > SEVERITY[verdict.action]) verdict = { action: rule.action, rule }
  }
  return verdict
}

const isSame = (one: PermissionRule, other: PermissionRule): boolean =>
  one.tool === other.tool && one.pattern === other.pattern

/** Longer texts are not looked at: no rule allows them, and every other one fits. */
const MAX_TEXT = 100_000

function fits({ tool, pattern, action }: PermissionRule, { names, texts, is_command }: JudgedCall): boolean {
  if (!names.some((name) => matchesWildcard(tool.toLowerCase(), name.toLowerCase()))) return false
  if (pattern === undefined) return true
  if (texts.some((text) => text.length > MAX_TEXT)) return action !== 'allow'
  const wanted = tidy(pattern)
  if (!is_command) return texts.some((text) => matchesWildcard(wanted, tidy(text)))
  // `ls *` must not let `ls; rm -rf .` pass, nor hide it from a rule about `rm *`.
  if (action === 'allow')
    return texts.every((text) => !OPERATORS.test(text) && matchesWildcard(wanted, tidy(text)))
  return texts.some((text) =>
    [text, ...text.split(OPERATORS)].some((part) => matchesWildcard(wanted, tidy(part))),
  )
}

const tidy = (text: string): string => text.trim().replace(/\s+/g, ' ')

const PATHS = ['path', 'file_path', 'filePath', 'abs_path', 'directory', 'notebook_path']

/** `input` is of a model or an agent: anything. */
export function describeCall(names: readonly string[], input: unknown, cwd: string): JudgedCall {
  const fields = isRecord(input) ? input : {}
  const { command, url } = fields
  if (typeof command === 'string') return { names, texts: [command], is_command: true }
  if (Array.isArray(command) && command.every((word) => typeof word === 'string'))
    return { names, texts: [command.join(' ')], is_command: true }
  const path = PATHS.map((name) => fields[name]).find((value) => typeof value === 'string')
  if (typeof path === 'string') {
    const place = posix.resolve(cwd, path)
    return { names, texts: [place, posix.relative(cwd, place) || '.'], is_command: false }
  }
  return { names, texts: [typeof url === 'string' ? url : (JSON.stringify(input) ?? '')], is_command: false }
}

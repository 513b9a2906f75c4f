import { posix } from 'node:path'
import type { PermissionRule } from '../contract/permission.ts'
import { isRecord } from '../contract/storable-text.ts'
import { matchesWildcard } from './wildcard.ts'

/** What a call is, as rules see it. */
export interface JudgedCall {
  /** Of its tool: its own, and those of ours that do the same. */
  names: readonly string[]
  /** What it is about. A model may say more than the tool reads, so all of it counts. */
  subjects: readonly Subject[]
  /** Its input as JSON; absent for tools of which it is known what they are about. */
  json: string | undefined
}

interface Subject {
  /** The forms that a pattern may have. */
  texts: readonly string[]
  is_command: boolean
}

export type Verdict = { action: 'allow' } | { action: 'ask' | 'deny'; rule: PermissionRule }

const SEVERITY = { allow: 0, ask: 1, deny: 2 }
/** What joins commands, or hides one in another. */
const OPERATORS = /[;&|\n<>`()]/
/** What stands in front of a command and leaves it what it is. */
const PREFIXES =
  /^(?:(?:[{!]|if|then|elif|else|while|until|do|time|exec|command|nohup|sudo|env|[A-Za-z_]\w*=\S*)\s+)+/
/** Patterns that JSON of an input may fit. */
const MAY_BE_JSON = /^[{*].*[}*]$|^\*$/s

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

function fits({ tool, pattern, action }: PermissionRule, { names, subjects, json }: JudgedCall): boolean {
  if (!names.some((name) => matchesWildcard(tool.toLowerCase(), name.toLowerCase()))) return false
  if (pattern === undefined) return true
  const wanted = tidy(pattern)
  const whole = json !== undefined && MAY_BE_JSON.test(wanted) ? [{ texts: [json], is_command: false }] : []
  if (action !== 'allow') return [...subjects, ...whole].some((each) => isAbout(each, wanted))
  const every = (list: readonly Subject[]) => list.length > 0 && list.every((each) => isOnly(each, wanted))
  return every(subjects) || every(whole)
}

function isAbout({ texts, is_command }: Subject, wanted: string): boolean {
  const parts = (text: string): string[] => {
    if (!is_command) return [text]
    const found = [text, ...text.split(OPERATORS)].map(tidy)
    return found.flatMap((part) => [part, part.replace(PREFIXES, '')])
  }
  return texts.some(
    (text) => text.length > MAX_TEXT || parts(text).some((part) => matchesWildcard(wanted, tidy(part))),
  )
}

/** `ls *` must not let `ls; rm -rf .` pass. */
function isOnly({ texts, is_command }: Subject, wanted: string): boolean {
  if (texts.some((text) => text.length > MAX_TEXT || (is_command && OPERATORS.test(text)))) return false
  return texts.some((text) => matchesWildcard(wanted, tidy(text)))
}

const tidy = (text: string): string => text.trim().replace(/\s+/g, ' ')

const PATHS = ['path', 'file_path', 'filePath', 'abs_path', 'directory', 'notebook_path']

/** Of these, and of agents' own that do the same, only that counts; what a file is going to hold is nothing for a rule. */
const KNOWN = new Set(['bash', 'edit', 'write', 'read', 'grep', 'glob', 'list', 'fetch_url'])

/** `input` is of a model or an agent: anything. */
export function describeCall(names: readonly string[], input: unknown, cwd: string): JudgedCall {
  const fields = isRecord(input) ? input : {}
  const { url } = fields
  const command = commandOf(fields.command)
  const subjects: Subject[] = command === null ? [] : [{ texts: [command], is_command: true }]
  for (const path of PATHS.map((name) => fields[name])) {
    if (typeof path !== 'string') continue
    const place = posix.resolve(cwd, path)
    subjects.push({ texts: [place, posix.relative(cwd, place) || '.'], is_command: false })
  }
  if (typeof url === 'string') {
    // As it is asked for: `HTTPS:example.com:443` is https://example.com/, too.
    const asked = URL.parse(url.trim())?.href
    subjects.push({ texts: asked === undefined ? [url] : [url, asked], is_command: false })
  }
  const json = JSON.stringify(input) ?? ''
  if (subjects.length === 0)
    return { names, subjects: [{ texts: [json], is_command: false }], json: undefined }
  return { names, subjects, json: names.some((name) => KNOWN.has(name.toLowerCase())) ? undefined : json }
}

function commandOf(command: unknown): string | null {
  if (typeof command === 'string') return command
  if (!Array.isArray(command) || !command.every((word) => typeof word === 'string')) return null
  const [shell = '', flag = '', script] = command
  // Some agents have a shell read every command of theirs.
  return /(?:^|\/)(?:ba|z|da)?sh$/.test(shell) && /^-\w*c$/.test(flag) && script !== undefined
    ? script
    : command.join(' ')
}

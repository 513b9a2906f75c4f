/** Where a repository is, for people: `acme/site`. */
export interface SkillRepository {
  owner: string
  repo: string
  /** As its https address has it; none where the repository lies on a machine. */
  host?: string | null
}

export interface FoundSkill extends SkillRepository {
  /** `acme/site:.claude/skills/deploy/SKILL.md` */
  id: string
  name: string
  path: string
}

/** What a spec asks for: `owner/repo:name`, `owner/repo:path/SKILL.md`, `repo:name`, `name`; in place of `owner/repo` its address. */
export interface SkillSpec {
  /** The host that an address names. */
  host: string | null
  /** As a person wrote it: with or without its owner. */
  repository: string | null
  /** Of a skill that is named by its place: the path of its SKILL.md. */
  path: string | null
  name: string
}

export function parseSpec(spec: string): SkillSpec | null {
  const { host, named, rest } = splitSpec(spec.trim())
  const repository = named === null ? null : named.toLowerCase().replace(/\.git$/, '')
  const parts = rest.split('/').filter((part) => part !== '' && part !== '.')
  if (repository === '' || parts.length === 0 || parts.includes('..') || rest.includes('\0')) return null
  const by_path = parts.length > 1 || parts[0] === SKILL_FILE
  if (parts.at(-1) === SKILL_FILE) parts.pop()
  const path = by_path ? [...parts, SKILL_FILE].join('/') : null
  return { host, repository, path, name: parts.at(-1) ?? '' }
}

/**
 * Addresses as people copy them, `https://host/owner/repo.git:name`, `git@host:owner/repo:name` and `host:port/owner/repo:name`,
 * have colons of their own.
 */
const ADDRESSED =
  /^(?:(?<scheme>[a-z][a-z+]*):\/\/(?:[^@/]*@)?(?<far>[^/]+)\/+|[^@:/\s]+@(?<ssh>[^:/]+):\/*|(?<bare>[^@:/\s]+:\d+)\/)(?<named>[^:]+?)\/?:(?<rest>.*)$/is
/** Names under which hosts take ssh, or answer pages. */
const OTHER_NAME = /^(?:www|ssh|altssh)\.(github\.com|gitlab\.com|bitbucket\.org|dev\.azure\.com)$/

function splitSpec(spec: string): { host: string | null; named: string | null; rest: string } {
  const { scheme = '', far, ssh, bare, named, rest } = ADDRESSED.exec(spec)?.groups ?? {}
  if (named !== undefined && rest !== undefined) {
    // A port of ssh is none of https.
    const port = /^https?$/i.test(scheme || 'https') ? /:443$/ : /:\d*$/
    const host = (far ?? ssh ?? bare ?? '').toLowerCase().replace(port, '').replace(OTHER_NAME, '$1')
    return { host, named, rest: rest.trim() }
  }
  const colon = spec.indexOf(':')
  return {
    host: null,
    named: colon === -1 ? null : spec.slice(0, colon).trim(),
    rest: spec.slice(colon + 1).trim(),
  }
}

export const SKILL_FILE = 'SKILL.md'

/** A host that is named is the repository's: what lies elsewhere under the same path is another one. */
export function isNamedBy(spec: SkillSpec, { owner, repo, host = null }: SkillRepository): boolean {
  const path = `${owner}/${repo}`.toLowerCase()
  if (spec.host !== null) return spec.host === host && spec.repository === path
  if (spec.repository === null || spec.repository === repo.toLowerCase() || spec.repository === path)
    return true
  // Without a scheme it may begin with the host, or a group may look like one.
  const [first = '', ...others] = spec.repository.split('/')
  return first.replace(OTHER_NAME, '$1') === host && others.join('/') === path
}

const MAX_LISTED = 20

/**
 * The skill that a spec means. Within a repository the folder that comes first wins; between repositories nothing does.
 * `skills` are in the order of the folders.
 */
export function resolveSpec<Skill extends FoundSkill>(
  text: string,
  skills: readonly Skill[],
): { skill: Skill } | { refusal: string } {
  const spec = parseSpec(text)
  if (!spec)
    return {
      refusal: `"${text}" names no skill: write owner/repo:name, owner/repo:path/SKILL.md, repo:name or name.`,
    }
  const meant = skills.filter(
    (skill) =>
      isNamedBy(spec, skill) && (spec.path === null ? skill.name === spec.name : skill.path === spec.path),
  )
  const firsts = meant.filter(
    ({ owner, repo }, at) => meant.findIndex((other) => other.owner === owner && other.repo === repo) === at,
  )
  const [skill, ...others] = firsts
  if (skill && others.length === 0) return { skill }
  if (skill)
    return {
      refusal: `The skill "${text}" is in more than one repository: ${list(firsts)}. Name one of them.`,
    }
  const known = skills.length > 0 ? `There are ${list(skills)}.` : 'Its repositories have none.'
  return { refusal: `The environment has no skill "${text}". ${known}` }
}

const list = (skills: readonly FoundSkill[]): string => {
  const more = skills.length > MAX_LISTED ? ` and ${skills.length - MAX_LISTED} more` : ''
  return `${skills
    .slice(0, MAX_LISTED)
    .map(({ id }) => id)
    .join(', ')}${more}`
}

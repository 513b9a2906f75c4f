/** Whether this checkout can be released as a version: its number, its changelogs, its work tree. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVersion } from './named-versions.ts'

export const CHANGELOGS = ['CHANGELOG.md', 'python/CHANGELOG.md']
/** npm and PyPI write versions before a release differently, so there are none here. */
const VERSION = /^(?:0|[1-9]\d{0,5})(?:\.(?:0|[1-9]\d{0,5})){2}$/
const DATED = /^\d{4}-\d\d-\d\d$/

export interface Findings {
  /** Nothing can be built for this version. */
  refusals: string[]
  /** A dry run goes on; a release does not. */
  open: string[]
}

export function checkRelease(root: string, version: string): Findings {
  if (!VERSION.test(version)) {
    const given = version === '' ? 'No version was given.' : `"${version}" is not a version.`
    return {
      refusals: [`${given} Give three numbers, such as 0.2.0: npm run release -- --dry-run 0.2.0`],
      open: [],
    }
  }
  const refusals: string[] = []
  const open: string[] = []
  const current = readVersion(root)
  if (compareVersions(version, current) < 0)
    refusals.push(`${version} is older than ${current}, the version of this checkout.`)
  for (const file of CHANGELOGS) {
    const section = findSection(readFileSync(join(root, file), 'utf8'), version)
    if (section === null)
      refusals.push(
        `The first section of ${file} is not "## ${version} (YYYY-MM-DD)". Add it, with what is new.`,
      )
    else if (section.text === '') refusals.push(`${file} says nothing about ${version}. Write what is new.`)
    else if (!DATED.test(section.note))
      open.push(
        `${file} says "${section.note}" behind ${version}. Write the day of the release: (YYYY-MM-DD).`,
      )
  }
  const tag = ['rev-parse', '-q', '--verify', `refs/tags/v${version}`]
  if (spawnSync('git', tag, { cwd: root, stdio: 'ignore' }).status === 0)
    open.push(`The tag v${version} exists already, so ${version} has been released. Choose the next version.`)
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' })
  if (changes !== '') open.push(`The work tree has changes. Commit or remove them:\n${changes.trimEnd()}`)
  return { refusals, open }
}

/** The newest section of a changelog if it is this version's: what stands in brackets behind the version, and the text below. */
export function findSection(changelog: string, version: string): { note: string; text: string } | null {
  const [, newest = ''] = changelog.split(/^## /m)
  const [heading = '', ...lines] = newest.split('\n')
  const [, named, note = ''] = /^(\S+)(?: \((.*)\))?\s*$/.exec(heading) ?? []
  return named === version ? { note, text: lines.join('\n').trim() } : null
}

function compareVersions(one: string, other: string): number {
  const others = other.split('.').map(Number)
  const differences = one.split('.').map((part, index) => Number(part) - (others[index] ?? 0))
  return differences.find((difference) => difference !== 0) ?? 0
}

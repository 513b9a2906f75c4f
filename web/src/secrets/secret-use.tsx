import type { Secret } from '@runyard/client'
import { plainText } from '../text/plain-text.ts'

/** What a secret is for, and what it is bound to. */
export const SecretUse = ({ secret }: { secret: Pick<Secret, 'git' | 'registry'> }) => (
  <span className="wrap-anywhere">{plainText(sayUse(secret))}</span>
)

function sayUse({ git, registry }: Pick<Secret, 'git' | 'registry'>): string {
  if (registry) return `Images of ${registry.host}, as ${registry.username}`
  if (!git) return 'Variable for commands'
  const facts = [
    `${git.app ? 'GitHub App' : 'Git'} on ${git.host}`,
    git.repositories?.join(', ') ?? 'every repository',
    git.read_only ? 'never pushes' : '',
  ]
  return facts.filter(Boolean).join(' · ')
}

import type { Secret } from '@runyard/client'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { ListPage } from '../ui/list-page.tsx'
import { Ago } from '../ui/moment.tsx'
import { usePages } from '../ui/paged-rows.tsx'
import { SecretUse } from './secret-use.tsx'

/** Values that runs use and nobody reads back. */
export function SecretsPage() {
  const { client } = useAccess()
  const pages = usePages<Secret>(['secrets', 'list'], async (cursor, options) => {
    const { secrets, page_info } = await client.secrets.list({ limit: 200, ...cursor }, options)
    return { items: secrets, page_info }
  })
  return (
    <ListPage
      kind="secret"
      pages={pages}
      about="One is a password, key or token that runs use and nobody reads back. An environment names those that its runs get."
      sample={'printf %s "$TOKEN" | runyard secret set DEPLOY_TOKEN'}
    >
      {(secret) => <SecretRow key={`${secret.scope.type} ${secret.name}`} secret={secret} />}
    </ListPage>
  )
}

function SecretRow({ secret }: { secret: Secret }) {
  const { name, description, scope, restricted, version, created_at, last_updated } = secret
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1 py-3">
      <span className="min-w-0 flex-1 basis-72">
        <Link
          to="/secrets/$scope/$name"
          params={{ scope: scope.type === 'User' ? 'own' : 'team', name }}
          className="font-medium font-mono text-ink text-sm no-underline wrap-anywhere hover:underline"
        >
          {name}
        </Link>
        <span className="block text-sm text-soft">
          <SecretUse secret={secret} />
          {description ? <span className="block">{plainText(description)}</span> : null}
        </span>
      </span>
      <span className="text-sm text-soft sm:text-right">
        {scope.type === 'User' ? 'Only you' : restricted ? 'Only those who were named' : 'Team'} · version{' '}
        {version}
        <span className="block">
          {version === 1 || created_at === last_updated ? null : (
            <>
              set <Ago at={last_updated} /> ·{' '}
            </>
          )}
          created <Ago at={created_at} />
        </span>
      </span>
    </li>
  )
}

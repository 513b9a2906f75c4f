import type { ApiKey } from '@runyard/client'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Ago } from '../ui/moment.tsx'
import { PagedRows } from '../ui/paged-rows.tsx'
import { Problem } from '../ui/problem.tsx'
import { useKeyChange, useKeyList, useMayChangeKey } from './key-list.ts'
import { ShownKey } from './new-key.tsx'

/** The keys of one user or identity, or all that this person sees. */
export const KeyRows = ({ principal_id }: { principal_id?: string }) => (
  <div>
    <PagedRows
      pages={useKeyList(principal_id)}
      label="API keys"
      more="Older keys"
      empty={<p className="m-0 text-sm text-soft">No key yet.</p>}
    >
      {(key) => <KeyRow key={key.key_id} api_key={key} />}
    </PagedRows>
  </div>
)

function KeyRow({ api_key }: { api_key: ApiKey }) {
  const { client } = useAccess()
  const may_change = useMayChangeKey()
  const { key_id, name, role, pool, masked, active, principal, grace_until } = api_key
  const rotate = useKeyChange(() => client.apiKeys.rotate(key_id))
  const revoke = useKeyChange(() => client.apiKeys.revoke(key_id))
  const error = rotate.error ?? revoke.error
  return (
    <li className="grid gap-2 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
        <span className="min-w-0 flex-1">
          <span className={`font-medium text-base ${active ? '' : 'text-soft line-through'}`}>
            {plainText(name)}
          </span>{' '}
          <code className="text-soft text-xs">{masked}</code>
          <span className="block text-soft">
            {pool === undefined ? role : `Pool ${pool}`} ·{' '}
            {plainText(principal.display_name ?? principal.uid)}
            <KeyTimes api_key={api_key} />
          </span>
        </span>
        {may_change(api_key) ? (
          <span className="flex gap-2">
            {grace_until ? null : (
              <ConfirmButton
                kind="plain"
                confirm="Rotate the key"
                question="Another key takes its place. This one works for five more minutes."
                is_busy={rotate.isPending}
                onConfirm={() => rotate.mutate(undefined)}
              >
                Rotate
              </ConfirmButton>
            )}
            <ConfirmButton
              confirm="Revoke the key"
              question="It ends at once, with the sessions and links that were made with it."
              is_busy={revoke.isPending}
              onConfirm={() => revoke.mutate(undefined)}
            >
              Revoke
            </ConfirmButton>
          </span>
        ) : null}
      </div>
      {error ? <Problem error={error} /> : null}
      {rotate.data ? <ShownKey made={rotate.data} /> : null}
    </li>
  )
}

/** When it was used, and when it ends. */
function KeyTimes({ api_key }: { api_key: ApiKey }) {
  const { last_used_at, expires_at, grace_until, revoked_at } = api_key
  const [word, at] = revoked_at
    ? ['revoked', revoked_at]
    : grace_until
      ? ['replaced, ends', grace_until]
      : ['ends', expires_at]
  return (
    <>
      {' · '}
      {last_used_at ? (
        <>
          used <Ago at={last_used_at} />
        </>
      ) : (
        'never used'
      )}
      {at ? (
        <>
          {' '}
          · {word} <Ago at={at} />
        </>
      ) : null}
    </>
  )
}

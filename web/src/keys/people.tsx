import type { Principal } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Ago } from '../ui/moment.tsx'
import { PagedRows, usePages } from '../ui/paged-rows.tsx'
import { Problem } from '../ui/problem.tsx'
import { NewPerson, ShownLink } from './new-person.tsx'
import { PEOPLE } from './people-queries.ts'

/** Who has keys, for admins: and who may go on. */
export function People() {
  const { client } = useAccess()
  const pages = usePages<Principal>([PEOPLE], async (cursor, options) => {
    const { principals, page_info } = await client.principals.list({ limit: 100, ...cursor }, options)
    return { items: principals, page_info }
  })
  return (
    <section aria-labelledby="people" className="mt-10 grid gap-4">
      <h2 id="people" className="m-0 font-semibold text-base">
        People
      </h2>
      <NewPerson />
      <div>
        <PagedRows
          pages={pages}
          label="People"
          more="More people"
          empty={<p className="m-0 text-sm text-soft">Nobody yet.</p>}
        >
          {(person) => <Person key={person.uid} person={person} />}
        </PagedRows>
      </div>
    </section>
  )
}

function Person({ person }: { person: Principal }) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const { uid, display_name, disabled, role, keys, last_used_at } = person
  const turn = useMutation({
    mutationFn: () => (disabled ? client.principals.enable(uid) : client.principals.disable(uid)),
    onSuccess: () => queries.invalidateQueries(),
  })
  const link = useMutation({ mutationFn: () => client.signInLinks.create({ principal_id: uid }) })
  const error = turn.error ?? link.error
  return (
    <li className="grid gap-2 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
        <span className="min-w-0 flex-1">
          <span className={`font-medium text-base ${disabled ? 'text-soft' : ''}`}>
            {plainText(display_name)}
          </span>
          <span className="block text-soft">
            {disabled ? 'disabled · ' : ''}
            {role ? `${role} · ` : ''}
            {keys === 1 ? '1 key' : `${keys} keys`} ·{' '}
            {last_used_at ? (
              <>
                used <Ago at={last_used_at} />
              </>
            ) : (
              'never used'
            )}
          </span>
        </span>
        {disabled || !keys ? null : (
          <Button
            aria-label={`Create a sign-in link for ${plainText(display_name)}`}
            disabled={link.isPending}
            onClick={() => link.mutate()}
          >
            Sign-in link
          </Button>
        )}
        {disabled ? (
          <Button
            aria-label={`Enable ${plainText(display_name)}`}
            disabled={turn.isPending}
            onClick={() => turn.mutate()}
          >
            Enable
          </Button>
        ) : (
          <ConfirmButton
            confirm="Disable the person"
            question="Keys, sessions and links stop at once; schedules and triggers start nothing more. Runs at work go on."
            is_busy={turn.isPending}
            onConfirm={() => turn.mutate()}
          >
            Disable
          </ConfirmButton>
        )}
      </div>
      {error ? <Problem error={error} /> : null}
      {link.data ? <ShownLink name={display_name} link={link.data} /> : null}
    </li>
  )
}

import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import type { Principal } from '../../contract/principal.ts'
import { ROUTES } from '../../contract/routes.ts'
import { listPeople, type PrincipalRow, turnPerson } from '../../store/principals.ts'
import type { Services } from '../context.ts'
import { sendOnce, serve } from '../route.ts'

const LAST_ADMIN =
  'This person has the last admin key that works. Make an admin key for somebody else first: runyard keys create --role admin.'

export function servePrincipals(app: FastifyInstance, services: Services): void {
  const { store } = services

  serve(app, services, ROUTES.listPrincipals, async ({ query }) => {
    const { people, next_cursor } = await listPeople(store.db, query)
    return { principals: people.map(viewPerson), page_info: pageInfo(next_cursor) }
  })

  for (const [route, disabled] of [
    [ROUTES.disablePrincipal, true],
    [ROUTES.enablePrincipal, false],
  ] as const) {
    serve(app, services, route, (call) =>
      sendOnce(store.db, call, async (db) => {
        const person = await turnPerson(db, call.params.uid, disabled)
        if (person === 'last') throw new AppError('conflict', LAST_ADMIN, { retryable: false })
        if (!person) throw new AppError('resource_not_found', 'There is nobody with this id.')
        return { status: 200, body: viewPerson(person) }
      }),
    )
  }
}

const viewPerson = ({ role, last_used_at, created_at, ...person }: PrincipalRow): Principal => ({
  ...person,
  ...(role === null ? {} : { role }),
  ...(last_used_at ? { last_used_at: last_used_at.toISOString() } : {}),
  created_at: created_at.toISOString(),
})

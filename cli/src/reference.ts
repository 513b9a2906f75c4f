import { PermissionDeniedError, type Runyard } from '@runyard/client'
import { suggestName } from './closest.ts'
import { CommandFailure, usageFailure } from './failure.ts'
import { oneLine } from './one-line.ts'
import { isBeginning, isEnding, shortId, WHOLE_ID } from './short-id.ts'

/** Something that people name by its name, or by an end of its id. */
interface Named {
  id: string
  name: string
}

interface Kind {
  plural: string
  list: (client: Runyard) => AsyncIterable<Named>
  /** What makes one, for a place that has none. */
  create: string
  /** What is shown where there are others than the one that was named; default: the name, or the short id. */
  show?: (named: Named) => string
}

async function* mapAll<T>(items: AsyncIterable<T>, read: (item: T) => Named): AsyncGenerator<Named> {
  for await (const item of items) yield read(item)
}

async function* listPrincipals({ principals, identities }: Runyard): AsyncGenerator<Named> {
  yield* mapAll(principals.list(), ({ uid, display_name }) => ({ id: uid, name: display_name ?? '' }))
  yield* mapAll(identities.list(), ({ uid, name }) => ({ id: uid, name }))
}

/** By what an argument or the value of an option is called in its command. */
const KINDS: Record<string, Kind> = {
  schedule: {
    plural: 'schedules',
    list: ({ schedules }) => mapAll(schedules.list(), ({ id, name }) => ({ id, name })),
    create: "runyard schedule create NAME 'what to do' --cron '0 9 * * *'",
  },
  trigger: {
    plural: 'triggers',
    list: ({ triggers }) => mapAll(triggers.list(), ({ trigger_id: id, name }) => ({ id, name })),
    create: "runyard trigger create NAME 'what to do'",
  },
  webhook: {
    plural: 'webhooks',
    // An e-mail address is one without its scheme, too.
    list: ({ webhooks }) =>
      mapAll(webhooks.list(), ({ webhook_id: id, url }) => ({ id, name: url.replace(/^mailto:/, '') })),
    // Addresses of chats hold their password.
    show: ({ id, name }) => `${shortId(id)} (${URL.parse(name)?.host ?? name})`,
    create: 'runyard webhook create URL',
  },
  identity: {
    plural: 'identities',
    list: ({ identities }) => mapAll(identities.list(), ({ uid: id, name }) => ({ id, name })),
    create: 'runyard identity create NAME',
  },
  principal: { plural: 'principals', list: listPrincipals, create: 'runyard principal add NAME' },
}

/** All of a kind, by name. Throws where the caller may not see them. */
export async function listNamed(kind: string, client: Runyard): Promise<Named[]> {
  const known = kind === 'environment' ? ENVIRONMENTS : KINDS[kind]?.list
  const all = known ? await Array.fromAsync(known(client)) : []
  return all.sort((a, b) => a.name.localeCompare(b.name))
}

/** No kind that has to be looked up: the service takes its name. */
const ENVIRONMENTS = ({ environments }: Runyard): AsyncIterable<Named> =>
  mapAll(environments.list({ sort_by: 'name' }), ({ uid: id, config: { name } }) => ({ id, name }))

export const isReference = (kind: string): boolean => Object.hasOwn(KINDS, kind)

/** The whole id of what a person named; where the text may mean several or nothing, says which there are. */
export async function findReference(kind: string, client: Runyard, given: string): Promise<string> {
  const found = KINDS[kind]
  if (!found || WHOLE_ID.test(given) || (kind === 'principal' && given === 'me')) return given
  const all = await readAll(found, client)
  // Only admins see people; the service says what is wrong with the text.
  if (all === null) return given
  const called = all.filter(({ name }) => name === given || `mailto:${name}` === given)
  const matching =
    called.length > 0
      ? called
      : all.filter(
          ({ id }) => (isEnding(given) && id.endsWith(given)) || (isBeginning(given) && id.startsWith(given)),
        )
  const [only, ...more] = matching
  if (!only)
    throw new CommandFailure(`There is no ${kind} called ${JSON.stringify(given)}.`, {
      hint: suggestName(
        given,
        all.map(found.show ?? (({ id, name }) => name || shortId(id))),
        `there are no ${found.plural}; make one: ${found.create}`,
      ),
    })
  if (more.length === 0) return only.id
  throw usageFailure(
    called.length > 0
      ? `${matching.length} ${found.plural} are called ${JSON.stringify(given)}: give the id of one.`
      : `${matching.length} ${found.plural} have an id with ${given}: give more of it.`,
    oneLine(matching.map(({ id, name }) => (called.length > 0 ? id : `${id} (${name})`)).join(', ')),
  )
}

async function readAll({ list }: Kind, client: Runyard): Promise<Named[] | null> {
  try {
    return await Array.fromAsync(list(client))
  } catch (error) {
    if (error instanceof PermissionDeniedError) return null
    throw error
  }
}

/** `did you mean shop?` for the name of an environment that is not there. */
export async function suggestEnvironment({ environments }: Runyard, given: string): Promise<string> {
  const all = await Array.fromAsync(environments.list({ sort_by: 'name' }))
  return suggestName(
    given,
    all.map(({ config }) => config.name),
    'there are no environments; make one: runyard env create NAME --repo URL',
  )
}

import { CommandFailure, usageFailure } from './failure.ts'
import { oneLine } from './one-line.ts'
import { isBeginning, isEnding, WHOLE_ID } from './short-id.ts'

/** The whole one of these ids that a person gave an end, or a beginning, of. `noun`: what they are ids of. */
export async function findEnding(
  ids: AsyncIterable<string> | Iterable<string>,
  noun: string,
  given: string,
): Promise<string> {
  if (WHOLE_ID.test(given)) return given
  const matching: string[] = []
  for await (const id of ids)
    if ((isEnding(given) && id.endsWith(given)) || (isBeginning(given) && id.startsWith(given)))
      matching.push(id)
  const [only, ...more] = matching
  if (!only)
    throw new CommandFailure(`There is no ${noun} whose id begins or ends with ${JSON.stringify(given)}.`, {
      hint: 'give six letters or more of the end of its id, or all of it',
    })
  if (more.length === 0) return only
  throw usageFailure(
    `Several have an id with ${given}: ${oneLine(matching.join(', '))}.`,
    'give more of the id',
  )
}

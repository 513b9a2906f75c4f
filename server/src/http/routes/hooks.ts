import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BUDGETS } from '../../budgets/budgets.ts'
import { AppError } from '../../contract/error.ts'
import { isRecord } from '../../contract/storable-text.ts'
import type { HookAnswer } from '../../contract/trigger.ts'
import { type Done, deliver, findDuplicate, type Sent, whyFiltered } from '../../intake/delivery.ts'
import { openTriggerSecrets } from '../../sealing/trigger-secrets.ts'
import { createCounter } from '../../store/request-counts.ts'
import { findHook, type TriggerRow } from '../../store/triggers.ts'
import type { Services } from '../context.ts'
import { createFailureLimit } from '../failure-limit.ts'
import { describeSent, readPayload } from '../hook-payload.ts'
import { isSigned, type Posted } from '../hook-signature.ts'
import { intakeServices } from '../intake-services.ts'
import { consume, refuseOver } from '../request-limits.ts'
import { sendJson } from '../route.ts'

const DAY_S = 24 * 3600
const BODY_LIMIT = 2 * 1024 ** 2
/** What goes on being read of an address with many failures: others may send from there, too. */
const SMALL_BODY = 64 * 1024

declare module 'fastify' {
  interface FastifyRequest {
    /** What is posted to, before the body is read. */
    hook?: TriggerRow
  }
}

/** `POST /hooks/{id}`: what others post to triggers. Nobody needs a key; who knows the secret may. */
export function serveHooks(app: FastifyInstance, services: Services): void {
  const { store, settings, watch, reading } = services
  const failures = createFailureLimit('Too many refused deliveries from this address.')
  const notFound = async (request: FastifyRequest): Promise<never> => {
    await failures.count(request)
    throw noSuchHook()
  }

  const counted = createCounter(store.db, 'deliveries', BUDGETS.deliveries.most)
  const kept = createCounter(store.db, 'kept_deliveries', BUDGETS.kept_deliveries.most, DAY_S)
  const kept_filtered = createCounter(store.db, 'kept_filtered', BUDGETS.kept_filtered.most, DAY_S)
  const begin = async (hook: TriggerRow, sent: Sent, bytes: number): Promise<Done | null> => {
    const filtered = await whyFiltered(hook, sent)
    const { is_over } = await consume(filtered === null ? kept : kept_filtered, hook.editor.uid, bytes)
    return deliver(intakeServices(services), hook, { ...sent, is_bare: is_over }, filtered)
  }

  app.register(async (scope) => {
    // The bytes are what was signed, whatever they are said to be.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
      services.bodies.receive(request, payload),
    )
    scope.route<{ Params: { trigger_id: string } }>({
      method: 'POST',
      url: '/hooks/:trigger_id',
      bodyLimit: BODY_LIMIT,
      onRequest: async (request) => {
        // Reading a large body and hashing it costs more than all else, and takes no secret.
        if (!(Number(request.headers['content-length']) <= SMALL_BODY)) await failures.refuse(request)
        const hook = await findHook(store.db, request.params.trigger_id)
        if (!hook) return notFound(request)
        request.hook = hook
      },
      handler: async (request, reply) => {
        const { hook } = request
        if (!hook) throw new Error('The route was reached without its trigger.')
        const posted = postedOf(request)
        const { secret } = openTriggerSecrets(settings.keyring, hook.trigger_id, hook.sealed)
        if (!(await reading.take(request, () => isSigned(hook.verification, secret, posted)))) {
          await failures.count(request)
          throw new AppError('authentication_required', 'The signature is not right, or too old.')
        }
        // Before it is read: what came before, or cannot be read, takes as much work.
        refuseOver(await consume(counted, hook.editor.uid), BUDGETS.deliveries)
        // Reading 2 MiB and masking it are each a long piece of work: others have their turn between them.
        const payload = await reading.take(request, () => readPayload(posted))
        if (hook.verification === 'slack' && isRecord(payload) && payload.type === 'url_verification')
          return sendJson(reply, 200, { challenge: payload.challenge })
        const sent = await reading.take(request, () =>
          describeSent(hook.verification, secret, posted, payload),
        )
        const done =
          (await findDuplicate(store.db, hook.trigger_id, sent)) ??
          (await begin(hook, sent, posted.body.length))
        if (!done) return notFound(request)
        wake(watch, done)
        return sendJson(reply, done.is_duplicate ? 200 : 202, viewAnswer(done))
      },
    })
  })
}

/** A trigger that is paused and one that never was are the same to those who post. */
const noSuchHook = (): AppError => new AppError('resource_not_found', 'There is nothing at this path.')

/** After the commit. */
export function wake(watch: Services['watch'], { run_id, pool }: Done): void {
  if (run_id !== null) watch.touchRun(run_id)
  if (pool !== null) watch.touchPool(pool)
}

function postedOf(request: FastifyRequest): Posted {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
  return {
    headers: Object.fromEntries(headers),
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  }
}

const viewAnswer = ({
  is_duplicate,
  delivery: { delivery_id, outcome, run_id, reason },
}: Done): HookAnswer => ({
  delivery_id,
  ...(is_duplicate ? { outcome: 'duplicate', first_outcome: outcome } : { outcome }),
  ...(run_id === null ? {} : { run_id }),
  ...(reason === null ? {} : { reason }),
})

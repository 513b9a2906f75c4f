import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { z } from 'zod'
import { BUDGETS } from '../../budgets/budgets.ts'
import { AppError } from '../../contract/error.ts'
import {
  ASK_INTERVAL_S,
  answerLogin,
  createLogin,
  findLogin,
  LOGIN_LIFETIME_S,
  takeLogin,
} from '../../store/device-logins.ts'
import { unauthenticated } from '../auth.ts'
import { ownerOf, siteOf } from '../budget-owner.ts'
import type { Services } from '../context.ts'
import { createFailureLimit } from '../failure-limit.ts'
import { requireOwnPage } from '../own-page.ts'
import { invalid } from '../problem.ts'
import { sendJson } from '../route.ts'
import { requireCurrentKey } from '../sealed-answer.ts'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const BODY_LIMIT = 4096
const FORM = 'application/x-www-form-urlencoded'
const CONTROL = /[\p{Cc}\p{Cf}]/u

const UserCode = z.string().min(1).max(32)
const Question = z.strictObject({ user_code: UserCode })
const Answer = z.strictObject({ user_code: UserCode, grant: z.boolean() })

/**
 * How a program that has no browser gets a key: the device authorization grant of OAuth 2.0 (RFC 8628), with the errors of RFC 6749
 * (5.2) and described as RFC 8414 says, so that any client of it works. The page asks whoever is signed in there.
 */
export function serveDeviceLogin(app: FastifyInstance, services: Services): void {
  const { settings } = services
  app.get('/.well-known/oauth-authorization-server', async (_request, reply) =>
    sendJson(reply, 200, {
      issuer: settings.public_url,
      device_authorization_endpoint: `${settings.public_url}/oauth/device_authorization`,
      token_endpoint: `${settings.public_url}/oauth/token`,
      token_endpoint_auth_methods_supported: ['none'],
      grant_types_supported: [DEVICE_GRANT],
      response_types_supported: [],
    }),
  )
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(FORM, async (request: FastifyRequest, payload: IncomingMessage) =>
      readForm(await services.bodies.receive(request, payload)),
    )
    serveProgram(scope, services)
  })
  servePage(app, services)
}

/** What the program asks, without a key. */
function serveProgram(scope: FastifyInstance, { store, settings, audit }: Services): void {
  const begun = createFailureLimit('Too many logins were asked for from this network.', {
    ...BUDGETS.logins,
    groupOf: siteOf,
  })
  // In memory: what asks without a pause costs no question to the database.
  const questions = new RateLimiterMemory({ points: BUDGETS.login_questions.most / 6, duration: 10 })
  const failures = createFailureLimit('Too many questions about unknown logins from this address.')

  scope.post('/oauth/device_authorization', { bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const form = formOf(request)
    const client_id = form.get('client_id')
    if (!client_id) return refuse(reply, 'invalid_request', 'client_id: is missing.')
    const client_name = form.get('client_name') ?? client_id
    if (client_name.length > 100 || CONTROL.test(client_name))
      return refuse(reply, 'invalid_request', 'client_name: must be at most 100 characters of text.')
    await begun.count(request)
    const login = await createLogin(store.db, { client_name, address: request.ip })
    if (!login)
      throw new AppError(
        'resource_unavailable',
        'Too many logins wait to be granted. Try again in a minute.',
        {
          headers: { 'retry-after': '60' },
        },
      )
    const page = `${settings.public_url}/device`
    return sendUnkept(reply, 200, {
      ...login,
      verification_uri: page,
      verification_uri_complete: `${page}?code=${login.user_code}`,
      expires_in: LOGIN_LIFETIME_S,
      interval: ASK_INTERVAL_S,
    })
  })

  scope.post('/oauth/token', { bodyLimit: BODY_LIMIT }, async (request, reply) => {
    const form = formOf(request)
    if (form.get('grant_type') !== DEVICE_GRANT)
      return refuse(reply, 'unsupported_grant_type', `grant_type: must be ${DEVICE_GRANT}.`)
    const device_code = form.get('device_code')
    if (!device_code) return refuse(reply, 'invalid_request', 'device_code: is missing.')
    if (!form.get('client_id')) return refuse(reply, 'invalid_request', 'client_id: is missing.')
    // As its clients understand it: they wait, and ask again.
    const is_early = await Promise.all([
      failures.refuse(request),
      questions.consume(device_code.slice(0, 100)),
    ]).then(
      () => false,
      () => true,
    )
    if (is_early) return refuse(reply, 'slow_down', `Ask once in ${ASK_INTERVAL_S} seconds at most.`)
    const login = await takeLogin(store.db, device_code)
    switch (login.status) {
      case 'pending':
        return refuse(reply, 'authorization_pending', 'Nobody has granted the login yet.')
      case 'refused':
        return refuse(reply, 'access_denied', 'The login was refused on the page.')
      case 'unknown':
        await failures.count(request).catch(() => {})
        return refuse(reply, 'expired_token', 'There is no such login, or no longer.')
      case 'granted': {
        const { key, actor, client_name } = login
        audit.note({
          ...{ action: 'createApiKey', target: key.key_id, via: 'http', status: 200 },
          ...{ principal_id: actor.principal_id, key_id: actor.key_id, role: actor.role },
          ...{ address: request.ip, request_id: request.id },
          detail: `${actor.role}, for a login from ${client_name}`,
        })
        const { api_key, key_id, principal_id } = key
        return sendUnkept(reply, 200, {
          ...{ access_token: api_key, token_type: 'Bearer' },
          ...{ key_id, principal_id, role: actor.role },
        })
      }
    }
  })
}

/** What the page asks and says, for whoever is signed in there. */
function servePage(app: FastifyInstance, { store, settings, access, limits }: Services): void {
  const PATH = '/web/device-login'
  const onRequest = async (request: FastifyRequest): Promise<void> => {
    if (request.headers['x-runyard-page'] !== '1')
      throw unauthenticated('Only the page itself may ask this: X-Runyard-Page is missing.')
    requireOwnPage(request, settings.public_url)
  }
  const noSuchLogin = (request: FastifyRequest): Promise<never> =>
    wrong.count(request).then(() => {
      throw new AppError(
        'resource_not_found',
        'No login with this code waits. Each waits for ten minutes and can be answered once.',
      )
    })
  const wrong = createFailureLimit('Too many wrong codes from this address.')

  app.get(PATH, { onRequest }, async (request, reply) => {
    const actor = await access.authenticate(request)
    reply.headers(await limits.take(ownerOf(actor), false))
    const asked = Question.safeParse(request.query)
    if (!asked.success) throw invalid(asked.error)
    await wrong.refuse(request)
    const login = await findLogin(store.db, asked.data.user_code)
    if (!login) return noSuchLogin(request)
    return sendJson(reply, 200, { login: { ...login, created_at: login.created_at.toISOString() } })
  })

  app.post(PATH, { bodyLimit: BODY_LIMIT, onRequest }, async (request, reply) => {
    request.actor = await access.authenticate(request)
    reply.headers(await limits.take(ownerOf(request.actor), false))
    const answer = Answer.safeParse(request.body)
    if (!answer.success) throw invalid(answer.error)
    await wrong.refuse(request)
    await requireCurrentKey(store.db, request.actor)
    const { user_code, grant } = answer.data
    request.audit_detail = grant ? 'granted' : 'refused'
    const { key_id } = request.actor
    if (!(await answerLogin(store.db, user_code, { key_id, granted: grant }))) return noSuchLogin(request)
    return reply.code(204).send()
  })
}

const readForm = (bytes: Buffer): URLSearchParams => new URLSearchParams(bytes.toString('utf8'))

const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams()

/** Nothing on the way may keep it (RFC 6749, 5.1). */
const sendUnkept = (reply: FastifyReply, status: number, body: unknown): FastifyReply =>
  sendJson(reply.header('cache-control', 'no-store'), status, body)

/** An error as clients of OAuth read it, who know no problem documents. */
const refuse = (reply: FastifyReply, error: string, error_description: string): FastifyReply =>
  sendUnkept(reply, 400, { error, error_description })

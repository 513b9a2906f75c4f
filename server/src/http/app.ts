import { randomUUID } from 'node:crypto'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { parse as parseQuery } from 'node:querystring'
import Fastify, {
  type FastifyInstance,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { BUDGETS } from '../budgets/budgets.ts'
import { AppError } from '../contract/error.ts'
import { readActor } from '../store/api-keys.ts'
import { readVisitor } from '../store/visits.ts'
import { ANSWER_HEADERS } from './answer-headers.ts'
import { AuditWriter, recordRequests } from './audit.ts'
import { createAuthenticator } from './auth.ts'
import type { HttpContext, Services } from './context.ts'
import { isDownloadsHost, separateDownloads } from './downloads-origin.ts'
import { checkValue, parseJson, requireUtf8 } from './json-body.ts'
import { Metrics } from './metrics.ts'
import { answerOneByOne } from './one-by-one.ts'
import { sendPage } from './page.ts'
import { problemBody, sendProblem } from './problem.ts'
import { ReadingTurns } from './reading-turns.ts'
import { Bodies } from './receive-body.ts'
import { RequestLimits } from './request-limits.ts'
import { nameRequests } from './request-work.ts'
import { API_PREFIX } from './route.ts'
import { serveApiKeys } from './routes/api-keys.ts'
import { serveApprovals } from './routes/approvals.ts'
import { serveArtifacts } from './routes/artifacts.ts'
import { serveAuditLog } from './routes/audit-log.ts'
import { serveConversations } from './routes/conversations.ts'
import { serveDeviceLogin } from './routes/device-login.ts'
import { serveDocs } from './routes/docs.ts'
import { serveEnvironments } from './routes/environments.ts'
import { serveEvents } from './routes/events.ts'
import { serveFactories } from './routes/factories.ts'
import { serveFleet } from './routes/fleet.ts'
import { serveFollowups } from './routes/followups.ts'
import { serveGrants } from './routes/grants.ts'
import { serveHandoff } from './routes/handoff.ts'
import { serveHealth } from './routes/health.ts'
import { serveHooks } from './routes/hooks.ts'
import { serveIdentities } from './routes/identities.ts'
import { serveMetrics } from './routes/metrics.ts'
import { serveModels } from './routes/models.ts'
import { serveNetworking } from './routes/networking.ts'
import { servePools } from './routes/pools.ts'
import { servePreparedAttachments } from './routes/prepared-attachments.ts'
import { servePrincipals } from './routes/principals.ts'
import { servePullRequests } from './routes/pull-requests.ts'
import { serveRemoteWorkers } from './routes/remote-workers.ts'
import { serveRepositories } from './routes/repositories.ts'
import { serveRunDeletion } from './routes/run-deletion.ts'
import { serveRunReports } from './routes/run-reports.ts'
import { serveRuns } from './routes/runs.ts'
import { serveSchedules } from './routes/schedules.ts'
import { serveSecrets } from './routes/secrets.ts'
import { serveShareLinks } from './routes/share-links.ts'
import { serveSignInLinks } from './routes/sign-in-links.ts'
import { serveSkills } from './routes/skills.ts'
import { serveTriggers } from './routes/triggers.ts'
import { serveUsage } from './routes/usage.ts'
import { serveVisits } from './routes/visits.ts'
import { explainAddress, serveWebPage } from './routes/web-page.ts'
import { serveWebSession } from './routes/web-session.ts'
import { serveWebhooks } from './routes/webhooks.ts'
import { serveWorkspaceFiles } from './routes/workspace-files.ts'
import { createSessionLinks } from './session-access.ts'
import { createSignedLinks } from './signed-link.ts'
import { refuseSmallPieces } from './small-pieces.ts'
import { endStalledAnswers } from './stalled-answers.ts'
import { StreamLimit } from './stream-limit.ts'

/** A proxy in front could read one value and this service the other. */
const UNREPEATABLE = ['host', 'authorization']
/** How long a request may take to arrive, its body included. */
const REQUEST_TIMEOUT_MS = 300_000
const REQUEST_ID = /^[\w.:-]{1,128}$/

/** Routes check with zod (`route.ts`). Fastify would load its own compilers at each start, which take a tenth of it. */
const refuseSchema = (): never => {
  throw new Error('Routes have no schemas of Fastify.')
}

/** The HTTP face of the service. Not listening yet; `close` ends its streams. */
export function createApp(context: HttpContext): FastifyInstance {
  const { settings } = context
  const options: FastifyServerOptions = {
    // Standard output belongs to the command.
    logger: {
      level: settings.log_level,
      redact: ['req.headers.authorization', 'req.headers.cookie'],
      stream: settings.log_stream ?? process.stderr,
    },
    logController: new LogController({ disableRequestLogging: true }),
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    // One: what stands before the last address in X-Forwarded-For is the caller's own word, and most proxies keep it.
    trustProxy: settings.trust_proxy && ((_address: string, hop: number) => hop === 0),
    requestIdHeader: false,
    genReqId: (request) => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
    },
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: true,
    routerOptions: { querystringParser: parseQueryString, maxParamLength: 1024 },
    frameworkErrors: (error, request, reply) => {
      const page = explainAddress(error, request)
      if (page) sendPage(reply.headers(ANSWER_HEADERS), page)
      else sendProblem(error, request, reply, settings.public_url)
    },
    clientErrorHandler: (error, socket) => answerUnparsable(error, socket, settings.public_url),
    // Node's own refusal of a request without Host has no problem document; the hook below refuses it too.
    ...(settings.tls
      ? { https: { ...settings.tls, requireHostHeader: false } }
      : { http: { requireHostHeader: false } }),
  }
  const app = Fastify(options)
  answerOneByOne(app.server)
  refuseSmallPieces(app.server, (socket) =>
    answerUnparsable({ code: 'SMALL_PIECES' }, socket, settings.public_url),
  )
  // An expectation nobody knows may be ignored (RFC 9110, 10.1.1); Node's refusal has no problem document either.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  nameRequests(app)
  endStalledAnswers(app)
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(ANSWER_HEADERS).header('x-request-id', request.id)
    // Of who hangs up, no answer ends.
    reply.raw.once('close', () => request.giveBack?.())
    if (closing.signal.aborted) {
      throw new AppError('resource_unavailable', 'The service is stopping.', {
        headers: { 'retry-after': '2' },
      })
    }
    for (const name of UNREPEATABLE) {
      // Requests of our own, by `inject`, have none.
      if ((request.raw.headersDistinct?.[name]?.length ?? 0) > 1) {
        throw new AppError('invalid_request', `${name}: is given more than once.`)
      }
    }
    if (!isProbe(request.url) && !isKnownHost(request.host, settings)) {
      throw new AppError(
        'invalid_request',
        'The Host header names another service than this one (RUNYARD_PUBLIC_URL).',
      )
    }
  })
  separateDownloads(app, settings)
  refuseOtherMethods(app)
  app.removeAllContentTypeParsers()
  const bodies = new Bodies(context.blobs)
  const reading = new ReadingTurns()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { large = false } = request.routeOptions.config
    const bytes = await bodies.receive(request, payload, { large })
    requireUtf8(request.headers['content-type'])
    return reading.take(request, () => parseJson(bytes))
  })
  app.addHook('onResponse', async (request) => request.giveBack?.())
  // Not in the parser: Fastify does not catch what that throws.
  app.addHook('preValidation', async (request) => {
    if (!request.routeOptions.config.reads_no_query) checkValue(request.query, 'The query')
  })
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, settings.public_url))

  const audit = new AuditWriter(context.store.db, app.log)
  recordRequests(app, audit, API_PREFIX)
  const metrics = new Metrics(context.store, settings.version, app.log)
  metrics.observe(app)
  const { db } = context.store
  const actorOf = async (id: string) => (await readActor(db, id)) ?? readVisitor(db, id)
  const services: Services = {
    ...context,
    ...{ audit, metrics, bodies, reading, downloads: new StreamLimit(BUDGETS.downloads) },
    access: createAuthenticator(context.store.db, settings),
    limits: new RequestLimits(context.store.db, settings.request_maxima),
    links: createSignedLinks(settings.secret_key, actorOf),
    sessions: createSessionLinks(settings, actorOf),
    closing: closing.signal,
  }
  serveHealth(app, services)
  serveMetrics(app, services)
  serveRuns(app, services)
  serveRunDeletion(app, services)
  serveRunReports(app, services)
  serveConversations(app, services)
  serveFollowups(app, services)
  servePreparedAttachments(app, services)
  serveApprovals(app, services)
  serveEvents(app, services)
  serveSchedules(app, services)
  serveTriggers(app, services)
  serveHooks(app, services)
  serveEnvironments(app, services)
  serveSecrets(app, services)
  serveApiKeys(app, services)
  serveIdentities(app, services)
  servePrincipals(app, services)
  servePullRequests(app, services)
  serveRepositories(app, services)
  servePools(app, services)
  serveFleet(app, services)
  serveRemoteWorkers(app, services)
  serveGrants(app, services)
  serveAuditLog(app, services)
  serveModels(app, services)
  serveNetworking(app, services)
  serveFactories(app)
  serveSkills(app, services)
  serveArtifacts(app, services)
  serveHandoff(app, services)
  serveWorkspaceFiles(app, services)
  serveWebSession(app, services)
  serveDeviceLogin(app, services)
  serveVisits(app, services)
  serveUsage(app, services)
  serveShareLinks(app, services)
  serveSignInLinks(app, services)
  serveWebhooks(app, services)
  serveDocs(app, services)
  serveWebPage(app)
  return app
}

/** A known path with a method it does not have, whatever the method: 405 and what it does have, before the body is read. */
function refuseOtherMethods(app: FastifyInstance): void {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ method, url }) => {
    const { methods } = known.get(url) ?? { methods: new Set<string>() }
    for (const one of [method].flat()) methods.add(one)
    known.set(url, { pattern: patternOf(url), methods })
  })
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return
    const [path = ''] = request.url.split('?')
    const having = [...known.values()].find(({ pattern }) => pattern.test(path))?.methods
    if (!having || having.has(request.method)) return
    const allow = [...having].join(', ')
    throw new AppError('invalid_request', `This path has no ${request.method}: it has ${allow}.`, {
      status: 405,
      headers: { allow },
    })
  })
}

/** Of a path with parameters such as `:id`; nothing else in it means anything to an expression but dots. */
const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll('*', '.*').replace(/:\w+/g, '[^/]+')}$`)

/** `a=1&a=2` gives an array, `metadata[key]=value` a map; everything else stays a string. */
function parseQueryString(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null)
  const metadata: Array<[string, unknown]> = []
  for (const [name, value] of Object.entries(parseQuery(text))) {
    const nested = /^metadata\[(.*)\]$/s.exec(name)
    if (nested) metadata.push([nested[1] ?? '', value])
    else query[name] = value
  }
  if (metadata.length > 0) query.metadata ??= Object.fromEntries(metadata)
  return query
}

const isProbe = (url: string): boolean => /^\/(healthz|readyz|metrics)(\?|$)/.test(url)

function isKnownHost(host: string, settings: HttpContext['settings']): boolean {
  const name = host.toLowerCase().replace(/:\d+$/, '')
  if (name === 'localhost' || name === '127.0.0.1' || name === '[::1]') return true
  const is_public = name === new URL(settings.public_url).hostname || isDownloadsHost(name, settings)
  return is_public || settings.allowed_hosts.includes(name)
}

/** Requests that end before they are one, by the code of the error. */
const UNPARSABLE = new Map([
  ['HPE_HEADER_OVERFLOW', { status: 431, detail: 'The headers are too large.' }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, detail: 'The request is not valid HTTP.' }],
  [
    'SMALL_PIECES',
    { status: 400, detail: 'The body comes in too many small pieces. Send it in larger ones.' },
  ],
])
const NO_HTTP = { status: 400, detail: 'The request is not valid HTTP.' }

/** What Node could not parse as HTTP still gets a problem document. */
function answerUnparsable(
  error: { code?: string },
  socket: import('node:net').Socket,
  public_url: string,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, detail } = UNPARSABLE.get(error.code ?? '') ?? NO_HTTP
  const id = randomUUID()
  const problem = new AppError('invalid_request', detail, { status })
  const body = JSON.stringify(problemBody(problem, id, '/', public_url))
  const headers = {
    ...ANSWER_HEADERS,
    'content-type': 'application/problem+json; charset=utf-8',
    'x-request-id': id,
    'x-should-retry': 'false',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Work, workFor } from '../watchdog/event-loop.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** How the log names this request if it blocks the event loop. */
    work?: Extract<Work, { kind: 'request' }>
  }
}

/** Names the work of each request, so that what blocks the event loop can be told. */
export function nameRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    request.work = { kind: 'request', method: request.method, route: request.routeOptions.url ?? 'none' }
    workFor(request.work, done)
  })
  // A body arrives on the connection, which may have served other requests before.
  app.addHook('preValidation', (request, _reply, done) => {
    const principal_id = request.actor?.principal_id ?? request.hook?.editor.uid
    if (request.work && principal_id !== undefined) request.work.principal_id = principal_id
    workForRequest(request, done)
  })
}

export const workForRequest = <Result>(request: FastifyRequest, task: () => Result): Result =>
  request.work ? workFor(request.work, task) : task()

/** An answer that holds a secret is for the key that asked, and is given again to nobody else. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { z } from 'zod'
import type { NewApiKey } from '../src/contract/api-key.ts'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { SHOWN_ONCE } from '../src/contract/shown-once.ts'
import type { WebhookWithSecret } from '../src/contract/webhook.ts'
import { GOOD, onScene } from './support/good-requests.ts'

/** `text`: it may say anything, as a secret's name cannot. */
type Field = [name: string, marked: boolean, text: boolean]

/** All fields that an answer may have, and whether they are marked as secrets. */
function fieldsOf(schema: unknown): Field[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {} } = schema as { properties?: Record<string, Record<string, unknown>> }
  const own = Object.entries(properties).map(
    ([name, field]): Field => [
      name,
      field[SHOWN_ONCE] === true,
      field.type === 'string' && field.pattern === undefined,
    ],
  )
  return [...own, ...Object.values(schema).flatMap(fieldsOf)]
}

const answers = (Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>).flatMap(([id, route]) => {
  if (!route.response) return []
  const fields = fieldsOf(z.toJSONSchema(route.response, { unrepresentable: 'any' }))
  return [{ id, route, fields }]
})
const secretive = answers.flatMap(({ id, route, fields }) => {
  const secrets = fields.filter(([, marked]) => marked).map(([name]) => name)
  return secrets.length > 0 ? [{ id, route, secrets }] : []
})

test('what is named as a secret in an answer is marked as one', () => {
  for (const { id, fields } of answers)
    for (const [name, marked, text] of fields)
      assert(
        marked || !text || !/^(secret|api_key|token|password|value)$/.test(name),
        `${id} answers with ${name}`,
      )
  assert(secretive.length >= 7)
})

onScene('answers with secrets', (scene) => {
  const newKey = (body: object) => scene().face.admin.json<NewApiKey>('POST', '/api-keys', body)
  const ask = async (api_key: string, id: OperationId, idempotency_key: string) => {
    const { face, fill } = scene()
    const { path = ROUTES[id].path, body } = GOOD[id]
    const answer = await face
      .as(api_key)
      .call('POST', fill(path), body, { 'idempotency-key': idempotency_key })
    const text = await answer.text()
    return { status: answer.status, text, body: JSON.parse(text) as Record<string, unknown> }
  }

  for (const { id, route, secrets } of secretive)
    test(id, async () => {
      const { face } = scene()
      assert.equal(route.method, 'POST')
      const key = randomUUID()
      const asker = await newKey({ name: id, role: 'admin', principal_id: undefined })
      const first = await ask(asker.api_key, id, key)
      assert.equal(first.status, route.status, first.text)
      const values = secrets.map((name) => first.body[name])
      for (const value of values) assert(typeof value === 'string' && value.length > 8)
      assert.equal((await ask(asker.api_key, id, key)).text, first.text, 'a lost answer is given again')
      const refuse = async (api_key: string, why: RegExp): Promise<void> => {
        const { status, text } = await ask(api_key, id, key)
        assert(status === 409 || status === 403, text)
        assert.match(text, why)
        for (const value of values) assert(!text.includes(String(value)), id)
      }
      for (const role of ['admin', 'member', 'viewer']) {
        const other = await newKey({ name: role, role, principal_id: asker.principal.uid })
        await refuse(other.api_key, /Another API key|role/)
      }
      await face.admin.json('POST', `/api-keys/${asker.key_id}/rotate`, { grace_minutes: 60 })
      await refuse(asker.api_key, /This key was replaced/)
      const { rows } = await sql<{ kept: string }>`
        select string_agg(response::text, ' ') as kept from idempotency_keys`.execute(face.store.db)
      for (const value of values) assert(!rows[0]?.kept.includes(String(value)))
    })

  test('a repeated answer never shows a secret that somebody made later', async () => {
    const { admin } = scene().face
    const key = { 'idempotency-key': randomUUID() }
    const create = () => admin.call('POST', '/agent/webhooks', { url: 'https://receiver.invalid/x' }, key)
    const made = (await (await create()).json()) as WebhookWithSecret
    const path = `/agent/webhooks/${made.webhook_id}/rotate-secret`
    const rotate = () => admin.call('POST', path, {}, key)
    const rotated = (await (await rotate()).json()) as WebhookWithSecret
    const later = await admin.json<WebhookWithSecret>('POST', path, {})
    assert.equal(new Set([made.secret, rotated.secret, later.secret]).size, 3)
    for (const again of [await create(), await rotate()]) {
      assert.equal(again.status, 409)
      assert(!(await again.text()).includes(later.secret))
    }
  })
})

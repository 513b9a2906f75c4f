/** The providers' own clients, in their newest version: whatever they ask for in tokens goes through, and is counted. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { GATE_TOKEN, type ModelGate, openModelGate } from '../../test/support/model-gate.ts'

const PROMPT = [{ role: 'user' as const, content: 'Say hello.' }]
const HELLO = { input_tokens: 30, output_tokens: 7, cached_input_tokens: 12 }

describe('official clients at the model gateway', () => {
  let gate: ModelGate
  before(async () => {
    gate = await openModelGate()
  })
  after(() => gate[Symbol.asyncDispose]())
  beforeEach(() => {
    gate.used.length = 0
    gate.requests.length = 0
  })
  const asked = () => gate.requests.map(({ method, url }) => `${method} ${url}`)
  const counted = () => gate.used.map(({ provider: _, model, ...used }) => [model, used])

  describe('openai', () => {
    let openai: OpenAI
    before(() => {
      openai = new OpenAI({ apiKey: GATE_TOKEN, baseURL: `${gate.url}/openai/v1`, maxRetries: 0 })
    })

    test('chat and responses, whole and as streams', async () => {
      const chat = { model: 'gpt-scripted', messages: PROMPT }
      const whole = await openai.chat.completions.create(chat)
      assert.equal(whole.choices[0]?.message.content, 'Hello.')
      let text = ''
      for await (const chunk of await openai.chat.completions.create({ ...chat, stream: true }))
        text += chunk.choices[0]?.delta.content ?? ''
      const ask = { model: 'gpt-scripted', input: 'Say hello.' }
      assert.equal((await openai.responses.create(ask)).output_text, 'Hello.')
      for await (const part of await openai.responses.create({ ...ask, stream: true }))
        if (part.type === 'response.output_text.delta') text += part.delta
      assert.equal(text, 'Hello.Hello.')
      assert.deepEqual(counted(), Array(4).fill(['gpt-scripted', HELLO]))
    })

    test('what belongs to responses', async () => {
      assert.equal((await openai.responses.retrieve('resp_1')).id, 'resp_1')
      assert.deepEqual(
        (await openai.responses.inputItems.list('resp_1', { limit: 5, order: 'asc' })).data,
        [],
      )
      assert.equal((await openai.responses.inputTokens.count({ model: 'm', input: 'x' })).input_tokens, 30)
      assert.deepEqual(counted(), [])
      await openai.responses.compact({ model: 'gpt-scripted', input: 'Say hello.' })
      await openai.responses.delete('resp_1')
      assert.deepEqual(counted(), [['gpt-scripted', HELLO]])
      assert.deepEqual(asked(), [
        'GET /openai/v1/responses/resp_1',
        'GET /openai/v1/responses/resp_1/input_items?limit=5&order=asc',
        'POST /openai/v1/responses/input_tokens',
        'POST /openai/v1/responses/compact',
        'DELETE /openai/v1/responses/resp_1',
      ])
    })

    test('embeddings, completions, moderations and models', async () => {
      const { data } = await openai.embeddings.create({
        model: 'embed-scripted',
        input: 'x',
        encoding_format: 'float',
      })
      assert.deepEqual(data[0]?.embedding, [0.5, 0.25])
      const { choices } = await openai.completions.create({ model: 'gpt-scripted', prompt: 'Say hello.' })
      assert.equal(choices[0]?.text, 'Hello.')
      assert.equal((await openai.moderations.create({ input: 'x' })).results[0]?.flagged, false)
      const names: string[] = []
      for await (const { id } of openai.models.list()) names.push(id)
      assert.deepEqual(names, ['gpt-scripted'])
      assert.equal((await openai.models.retrieve('vendor/gpt-scripted')).id, 'gpt-scripted')
      assert.deepEqual(counted(), [
        ['embed-scripted', { input_tokens: 5, output_tokens: 0 }],
        ['gpt-scripted', HELLO],
      ])
    })

    test('what belongs to the whole account, or works on where nobody counts, is refused', async () => {
      const refused = { status: 404, message: /does not pass this on/ }
      await assert.rejects(openai.files.list(), refused)
      await assert.rejects(openai.batches.list(), refused)
      await assert.rejects(openai.models.delete('ft:gpt-4o:acme::x'), refused)
      await assert.rejects(openai.responses.create({ model: 'm', input: 'x', background: true }), {
        status: 400,
      })
      assert(gate.requests.every(({ body }) => body.length === 0))
    })
  })

  describe('anthropic', () => {
    let anthropic: Anthropic
    before(() => {
      anthropic = new Anthropic({ apiKey: GATE_TOKEN, baseURL: `${gate.url}/anthropic`, maxRetries: 0 })
    })
    const message = { model: 'claude-scripted', max_tokens: 100, messages: PROMPT }

    test('messages, whole and as a stream, of the beta too, and a token in place of a key', async () => {
      const texts: unknown[] = []
      for (const { content } of [
        await anthropic.messages.create(message),
        await anthropic.messages.stream(message).finalMessage(),
        await anthropic.beta.messages.create({ ...message, betas: ['context-1m-2025-08-07'] }),
        await new Anthropic({
          authToken: GATE_TOKEN,
          apiKey: null,
          baseURL: `${gate.url}/anthropic`,
        }).messages.create(message),
      ]) {
        const [first] = content
        texts.push(first?.type === 'text' && first.text)
      }
      assert.deepEqual(texts, Array(4).fill('Hello.'))
      assert.deepEqual(counted(), Array(4).fill(['claude-scripted', { ...HELLO, cache_write_tokens: 5 }]))
      assert.equal(gate.requests[2]?.headers['anthropic-beta'], 'context-1m-2025-08-07')
    })

    test('counts of tokens and models', async () => {
      const { max_tokens: _, ...counting } = message
      assert.equal((await anthropic.messages.countTokens(counting)).input_tokens, 30)
      assert.equal((await anthropic.beta.messages.countTokens(counting)).input_tokens, 30)
      for await (const { id } of anthropic.models.list()) assert.equal(id, 'claude-scripted')
      assert.equal((await anthropic.models.retrieve('claude-scripted')).display_name, 'Claude')
      assert.equal((await anthropic.beta.models.retrieve('claude-scripted')).display_name, 'Claude')
      assert.deepEqual(asked(), [
        'POST /anthropic/v1/messages/count_tokens',
        'POST /anthropic/v1/messages/count_tokens',
        'GET /anthropic/v1/models',
        'GET /anthropic/v1/models/claude-scripted',
        'GET /anthropic/v1/models/claude-scripted',
      ])
      await assert.rejects(anthropic.messages.batches.list(), { status: 404 })
      // As older clients ask for what is in a beta.
      const older = await fetch(`${gate.url}/anthropic/v1/messages?beta=true`, {
        ...{ method: 'POST', body: JSON.stringify(message), headers: { 'x-api-key': GATE_TOKEN } },
      })
      assert.equal(older.status, 200)
      assert.equal(asked().at(-1), 'POST /anthropic/v1/messages?beta=true')
    })
  })

  for (const apiVersion of ['v1', 'v1beta', 'v1alpha'])
    test(`google, ${apiVersion}`, async () => {
      const baseUrl = `${gate.url}/google`
      const google = new GoogleGenAI({ apiKey: GATE_TOKEN, httpOptions: { baseUrl, apiVersion } })
      const ask = { model: 'gemini-scripted', contents: 'Say hello.' }
      assert.equal((await google.models.generateContent(ask)).text, 'Hello.')
      let text = ''
      for await (const part of await google.models.generateContentStream(ask)) text += part.text ?? ''
      assert.equal(text, 'Hello.')
      assert.deepEqual(counted(), Array(2).fill(['gemini-scripted', HELLO]))
      assert.equal((await google.models.countTokens(ask)).totalTokens, 30)
      const { embeddings } = await google.models.embedContent({ model: 'embed-scripted', contents: 'x' })
      assert.deepEqual(embeddings?.[0]?.values, [0.5])
      const [, , embedded] = gate.used
      assert.deepEqual([embedded?.output_tokens, embedded?.estimated], [0, true])
      for await (const { name } of await google.models.list()) assert.equal(name, 'models/gemini-scripted')
      assert.equal((await google.models.get({ model: 'gemini-scripted' })).displayName, 'Gemini')
      for (const each of asked()) assert.match(each, new RegExp(`^(GET|POST) /google/${apiVersion}/models`))
    })

  test('google, interactions', async () => {
    const google = new GoogleGenAI({ apiKey: GATE_TOKEN, httpOptions: { baseUrl: `${gate.url}/google` } })
    const ask = { model: 'gemini-scripted', input: 'Say hello.' }
    assert.equal((await google.interactions.create(ask)).id, 'int_1')
    let text = ''
    for await (const part of await google.interactions.create({ ...ask, stream: true }))
      text += JSON.stringify(part)
    assert.match(text, /Hello\./)
    assert.deepEqual(counted(), Array(2).fill(['gemini-scripted', HELLO]))
    assert.equal((await google.interactions.get('int_1')).status, 'completed')
    await assert.rejects(Promise.resolve(google.interactions.create({ ...ask, background: true })))
    assert.equal(gate.used.length, 2)
  })
})

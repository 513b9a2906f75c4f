import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestError } from '@agentclientprotocol/sdk'
import { listAgents } from './acp-agents.ts'
import { describeError } from './acp-endings.ts'
import { judgeAgentWords, judgeModelCall } from './model-errors.ts'

const refused = (status: number, body: string) => ({ type: 'refused' as const, status, headers: {}, body })
const mask = (text: string) => text

/** As an agent's calls by the gateway are judged. */
function judge(failure: Parameters<typeof judgeModelCall>[0], provider: string) {
  const judged = judgeModelCall(failure, provider)
  assert(judged.type !== 'unknown_model')
  const { state, status_message } = judged.outcome
  return {
    type: judged.type,
    said: [state, status_message?.error_code],
    message: status_message?.message ?? '',
  }
}

test('each refusal of an agent’s call names the provider and the setting to change', () => {
  const key = judge(refused(401, '{"error":{"message":"invalid x-api-key sk-1"}}'), 'anthropic')
  assert.deepEqual(key.said, ['FAILED', 'external_authentication_required'])
  assert.match(key.message, /anthropic refused the service's API key\. .*ANTHROPIC_API_KEY/)
  assert.doesNotMatch(key.message, /sk-1/)
  assert.match(judge(refused(401, ''), 'groq').message, /GROQ_API_KEY/)
  assert.match(judge(refused(401, ''), 'deepinfra').message, /DEEPINFRA_API_KEY or DEEPINFRA_TOKEN/)
  const proxy = judge(refused(407, ''), 'openai')
  assert.deepEqual(proxy.said, ['FAILED', 'external_authentication_required'])
  assert.match(proxy.message, /proxy before the model provider openai .*OPENAI_BASE_URL/)
  const access = judge(refused(403, '{"error":{"message":"Your plan lacks this model"}}'), 'google')
  assert.deepEqual(access.said, ['FAILED', 'not_authorized'])
})

test('a wrong key is one in the words of each provider', () => {
  const saidBy = (status: number, message: string) =>
    judge(refused(status, JSON.stringify({ error: { message } })), 'openai').said[1]
  for (const [status, message] of [
    [401, 'Access denied due to invalid subscription key or wrong API endpoint.'],
    [401, 'Authentication Error, Invalid proxy server token passed. Not in LiteLLM_VerificationTokenTable'],
    [403, 'The security token included in the request is invalid.'],
    [400, 'Access token invalid or no longer valid'],
  ] as const)
    assert.equal(saidBy(status, message), 'external_authentication_required', message)
  for (const message of ['API Key not allowed to access model', 'Your token limit needs a higher tier'])
    assert.equal(saidBy(401, message), 'not_authorized', message)
})

test('a connection that cannot succeed is not tried again, and says why', () => {
  const failing = (code: string) => judge({ type: 'unreachable', message: 'gone', code }, 'openai')
  for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
    const { type, said, message } = failing(code)
    assert.deepEqual([type, ...said], ['final', 'FAILED', 'integration_not_configured'])
    assert.match(message, /certificate of the model provider openai .*NODE_EXTRA_CA_CERTS/)
  }
  assert.match(failing('EPROTO').message, /does not speak TLS/)
  const unknown = failing('ENOTFOUND')
  assert.deepEqual([unknown.type, ...unknown.said], ['passing', 'ERROR', 'resource_unavailable'])
  assert.match(unknown.message, /no host of that name, ENOTFOUND\)\. Check OPENAI_BASE_URL/)
})

test('what an agent with a key of its own says of it is no fault of the service', () => {
  assert.equal(judgeAgentWords('401 {"error":{"message":"invalid x-api-key"}}'), 'key')
  assert.equal(judgeAgentWords('Your credit balance is too low'), 'credit')
  assert.equal(judgeAgentWords('could not read settings.json'), null)
  const error = new RequestError(-32603, 'Internal error', { details: 'Incorrect API key provided' })
  const [agent] = listAgents({ codex: { command: ['codex'] } })
  assert(agent)
  const { state, status_message } = describeError(agent, error, undefined, mask)
  assert.deepEqual([state, status_message?.error_code], ['FAILED', 'external_authentication_required'])
  assert.match(status_message?.message ?? '', /Its provider refused the key: put a valid one/)
})

/** Refusals as providers, and what stands before them, word them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { saysTooLong } from './overflow-words.ts'
import { readWords } from './provider-words.ts'

const REASONS: ReadonlyArray<readonly [what: string, body: unknown, message: string, more?: object]> = [
  ['OpenAI', { error: { message: 'No.', type: 'x', code: null } }, 'No.'],
  [
    'OpenRouter, which passes on what its provider said as JSON in text',
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: '{"message":"tools[3] is no schema"}', provider_name: 'X' },
      },
    },
    'tools[3] is no schema',
    { status: 400 },
  ],
  [
    'the same with plain text inside',
    { error: { message: 'Provider returned error', metadata: { raw: 'upstream connect error' } } },
    'upstream connect error',
  ],
  ['Ollama', { error: 'model is loading' }, 'model is loading'],
  ['vLLM', { object: 'error', message: 'Too bad.', code: 400 }, 'Too bad.', { status: 400 }],
  ['FastAPI in a word', { detail: 'Not here' }, 'Not here'],
  [
    'FastAPI field by field',
    {
      detail: [
        { loc: ['body', 'messages', 1], msg: 'Extra inputs are not permitted', type: 'extra_forbidden' },
      ],
    },
    'body.messages.1: Extra inputs are not permitted',
  ],
  [
    'Google in an array',
    [{ error: { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' } }],
    'Slow down',
    { status: 429 },
  ],
  ['JSON in the message', { error: { message: '{"error":{"message":"inner"}}' } }, 'inner'],
  ['JSON behind words', { message: 'Error code: 400 - {"error": {"message": "deep"}}' }, 'deep'],
  [
    'LiteLLM, which passes on what Python prints',
    {
      error: {
        message:
          "litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'message': 'It\\'s bad'}}",
      },
    },
    "It's bad",
  ],
  [
    'a page',
    '<!DOCTYPE html>\n<html><head><title>Attention Required! |\n Cloudflare</title></head>',
    'Attention Required! | Cloudflare',
  ],
  ['a page without a title', '<html><body><h1>502 Bad Gateway</h1></body></html>', '502 Bad Gateway'],
  ['AWS', { __type: 'ThrottlingException', Message: 'Too many tokens' }, 'Too many tokens'],
  ['Apigee', { fault: { faultstring: 'Bad key', detail: { errorcode: 'oauth' } } }, 'Bad key'],
  ['a list of errors', { errors: [{ message: 'one' }, { message: 'two' }] }, 'one; two'],
  [
    'a kind beside the message',
    { statusCode: 400, error: 'Bad Request', message: 'property x should not exist' },
    'property x should not exist',
    { status: 400 },
  ],
  ['a message that is a layer', { message: { detail: [{ msg: 'No x' }] } }, 'No x'],
  ['plain text', 'Service is at capacity', 'Service is at capacity'],
  ['nothing', '', ''],
  ['nothing in JSON', {}, ''],
  ['JSON that nobody knows', { ok: false }, '{"ok":false}'],
]
for (const [what, body, message, more] of REASONS)
  test(`the innermost reason is read: ${what}`, () => {
    const { evidence: _, ...words } = readWords(typeof body === 'string' ? body : JSON.stringify(body))
    assert.deepEqual(words, { message, ...more })
  })

const WAITS: ReadonlyArray<readonly [what: string, body: unknown, wait_ms: number | undefined]> = [
  [
    "Google's RetryInfo",
    {
      error: {
        message: 'x',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }],
      },
    },
    34_070,
  ],
  ['seconds in the sentence', { error: { message: 'Rate limit. Please try again in 7.66s.' } }, 7_660],
  ['minutes and seconds', { error: { message: 'Please try again in 1m7.5s' } }, 67_500],
  ['milliseconds', { error: { message: 'Please try again in 250ms' } }, 250],
  ['words', { error: { message: 'Please retry after 20 seconds.' } }, 20_000],
  ['a field', { error: { message: 'x', retry_after: 3 } }, 3_000],
  ['no time', { error: { message: 'Please try again later. 5 models are up.' } }, undefined],
]
for (const [what, body, wait_ms] of WAITS)
  test(`how long to wait is read: ${what}`, () => {
    assert.equal(readWords(JSON.stringify(body)).wait_ms, wait_ms)
  })

const TOO_LONG = [
  "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).",
  'context_length_exceeded',
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'prompt is too long: 210000 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
  'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
  'Input is too long for requested model.',
  'Please reduce the length of the messages or completion.',
  'Invalid request: Your request exceeded model token limit: 131072',
  'prompt token count of 70000 exceeds the limit of 64000',
  'the request exceeds the available context size, try increasing it',
  'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
  'prompt too long; exceeded max context length by 12 tokens',
  'The decoder prompt (length 9000) is longer than the maximum model length of 8192.',
  "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
  '`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens and 1000 `max_new_tokens`',
  'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000',
  'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  'too many tokens: total number of tokens in the prompt cannot exceed 4081',
  'invalid params, context window exceeds limit (2013)',
  'Prompt exceeds max length',
  'tokens in request more than max tokens allowed',
  'The prompt is too long: 140000, model maximum context length: 131071',
  'Range of input length should be [1, 129024]',
  'Input length 224000 exceeds the maximum length 131072',
  'Request body too large for gpt-4o model. Max size: 8000 tokens.',
  'max_tokens must be at least 1, got -512.',
  "max_tokens is too large: 8192. This model's maximum context length is 8192 tokens and your request has 100 input tokens",
]
for (const words of TOO_LONG)
  test(`a conversation is too long: ${words}`, () => {
    assert(saysTooLong(words))
  })

const OTHER_LIMITS = [
  'Rate limit reached for gpt-x on tokens per minute (TPM): Limit 30000, Used 29000. Please reduce the length of the prompt.',
  'This request would exceed the rate limit of 30,000 input tokens per minute.',
  'max_tokens is too large: 32000. This model supports at most 16384 completion tokens.',
  "Invalid 'tools': array too long. Expected an array with maximum length 128.",
  'image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
  'Too many requests',
  'Invalid value for temperature',
]
for (const words of OTHER_LIMITS)
  test(`a limit of another kind is none of the conversation: ${words}`, () => {
    assert(!saysTooLong(words))
  })

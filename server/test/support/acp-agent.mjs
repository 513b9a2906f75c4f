/**
 * An agent without a model: it runs the lines after `$` of what it is asked, one call each. Lines after `?` it hands to the model
 * that its environment names (`MY_PLACE`, `MY_KEY`), again and again until it is answered; what stands behind `beside` is asked at
 * the same time, and answered last. Plain JavaScript without imports of
 * ours, since it runs inside sandboxes (`node -e`). Its session is a file where it starts.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, closeSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const offers = process.argv.slice(-1)[0] ?? ''
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const answers = new Map()
let last = 0
const ask = (method, params) => {
  last += 1
  send({ id: last, method, params })
  return new Promise((resolve) => answers.set(last, resolve))
}
const update = (sessionId, data) => send({ method: 'session/update', params: { sessionId, update: data } })
const fileOf = (sessionId) => `.scripted-${sessionId}`
const LEFT = '.scripted-left'
let cancelled = false
let running = null
let prompting = false
let queue = []
/** What it says at the end of its next prompts: the lines after `=`. */
const endings = []

async function askModel(question, say) {
  const { MY_PLACE, MY_KEY } = process.env
  const [, words = '', times = Number.POSITIVE_INFINITY, other] = /^(.*?)(?: x(\d+))?(?: beside (.*))?$/.exec(
    question,
  )
  const call = (content) =>
    fetch(`${MY_PLACE}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${MY_KEY}` },
      body: JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content }] }),
    })
  const beside = other && (await call(other))
  let answer = ''
  for (let tries = 0; tries < times && !cancelled; tries += 1) {
    const response = await call(words).catch(() => null)
    answer = await (response?.text().catch(() => '') ?? '')
    if (response?.ok && answer.includes('[DONE]')) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await beside?.text()
  if (words.includes('SAYS')) return say(`The provider says: ${answer}`)
  throw { code: -32603, message: `\u001b[31mInternal error\u001b[0m: ${answer}` }
}

const textsOf = (prompt) =>
  prompt.map((block) => block.text ?? `[${block.type} ${block.name ?? block.mimeType}]`)
const isService = (text) => text.startsWith('[From the service')

/** What it had still to do when somebody was asked about a call of its, and that call, if they allowed it. */
function goOn(texts) {
  const said = texts.find((text) => isService(text) && /allowed your call|denied this call/.test(text))
  if (!said || !existsSync(LEFT)) return []
  const left = JSON.parse(readFileSync(LEFT, 'utf8'))
  return said.includes('allowed') ? left : left.slice(1)
}

/** What agents say besides words. */
function show(sessionId) {
  const say = (content) => update(sessionId, { sessionUpdate: 'agent_message_chunk', content })
  const data = Buffer.from('a picture').toString('base64')
  const image = { type: 'image', data, mimeType: 'image/png' }
  say({ type: 'text', text: 'Look: ' })
  say(image)
  say({ type: 'resource', resource: { uri: 'file:///notes.md', text: 'Notes.', mimeType: 'text/markdown' } })
  say({ type: 'resource', resource: { uri: 'file:///a.bin', blob: data } })
  say({ type: 'resource_link', uri: 'https://example.com/', name: 'a page', mimeType: null })
  say({ type: 'audio', data, mimeType: 'audio/wav' })
  say({ type: 'text', text: 'That is all.' })
  const toolCallId = 'shot'
  const call = { toolCallId, title: 'screenshot', kind: 'other', status: 'in_progress' }
  update(sessionId, { sessionUpdate: 'tool_call', ...call })
  const content = [
    { type: 'content', content: { type: 'text', text: 'Taken.' } },
    { type: 'content', content: { ...image, data: Buffer.from('a screen').toString('base64') } },
    { type: 'diff', path: 'a.txt', newText: '' },
  ]
  update(sessionId, { sessionUpdate: 'tool_call_update', toolCallId, content })
  update(sessionId, { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content })
}

function commandsOf(texts) {
  const done = texts
    .filter((text) => isService(text) && text.includes('was begun and then lost'))
    .flatMap((text) => [...text.matchAll(/^You called bash .*, which (?:ended|failed)(.*)/gm)]).length
  const asked = texts.filter((text) => !isService(text))
  return asked.flatMap((text) => [...text.matchAll(/^\$ (.*)$/gm)].map(([, command]) => command)).slice(done)
}

async function run(sessionId, command) {
  const toolCallId = randomUUID()
  const call = {
    toolCallId,
    title: command,
    kind: 'execute',
    ...(/terse|titled/.test(offers) ? {} : { name: 'bash' }),
  }
  update(sessionId, {
    sessionUpdate: 'tool_call',
    ...call,
    // Some say that it works before they say what it does.
    status: offers.includes('late') ? 'in_progress' : 'pending',
    rawInput: offers.includes('terse') ? { command } : {},
  })
  const permission = await ask('session/request_permission', {
    sessionId,
    // Of what it has told before, an agent need not say all again.
    toolCall: offers.includes('terse')
      ? { toolCallId }
      : // Some say what they do in its title alone.
        { ...call, ...(offers.includes('titled') ? {} : { rawInput: { command } }) },
    options: [
      { optionId: 'no', name: 'No', kind: 'reject_once' },
      { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    ],
  })
  if (permission.result?.outcome?.outcome === 'cancelled')
    writeFileSync(LEFT, JSON.stringify([command, ...queue]))
  if (permission.result?.outcome?.optionId !== 'yes' || cancelled) return
  update(sessionId, { sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' })
  let output = ''
  const code = await new Promise((resolve) => {
    running = spawn('sh', ['-c', command], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [running.stdout, running.stderr])
      stream.on('data', (chunk) => {
        output += chunk
        if (offers.includes('pieces'))
          return update(sessionId, {
            ...{ sessionUpdate: 'tool_call_update', toolCallId },
            _meta: { terminal_output_delta: { data: String(chunk), terminal_id: toolCallId } },
          })
        const content = [{ type: 'content', content: { type: 'text', text: output } }]
        update(sessionId, { sessionUpdate: 'tool_call_update', toolCallId, content })
      })
    running.on('close', resolve)
  })
  running = null
  const status = code === 0 ? 'completed' : 'failed'
  update(sessionId, {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status,
    ...(offers.includes('pieces')
      ? { _meta: { terminal_exit: { exit_code: code, terminal_id: toolCallId } } }
      : { rawOutput: { output, exit_code: code } }),
  })
}

const sayForEver = (start = '{') => {
  const piece = start.padEnd(1024 ** 2, ' ')
  process.stdout.write(piece, () => sayForEver(''))
}

/** Calls without end, as fast as they are taken. */
const sayAllTheTime = (sessionId, n = 0) => {
  const line = (id) => {
    const update = {
      sessionUpdate: 'tool_call',
      toolCallId: `call ${id}`,
      title: 'A call',
      status: 'completed',
    }
    return JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })
  }
  const lines = Array.from({ length: 100 }, (_, at) => line(n + at))
  process.stdout.write(`${lines.join('\n')}\n`, () => sayAllTheTime(sessionId, n + lines.length))
}

async function prompt({ sessionId, prompt: blocks }) {
  cancelled = false
  prompting = true
  const texts = textsOf(blocks)
  appendFileSync(fileOf(sessionId), `${JSON.stringify(texts)}\n`)
  if (texts.some((text) => text === 'die')) process.exit(7)
  // It lives on, and can be told nothing more, or says nothing more that can be read, or nothing at all.
  const hostile = {
    deaf: () => closeSync(0),
    mute: () => closeSync(1),
    endless: sayForEver,
    restless: () => sayAllTheTime(sessionId),
    silent: () => {},
  }[texts.at(-1)]
  if (hostile) {
    setInterval(() => {}, 60_000)
    hostile()
    return new Promise(() => {})
  }
  if (texts.some((text) => text === 'no key')) throw { code: -32000, message: 'Authentication required' }
  if (texts.some((text) => text === 'fail'))
    throw {
      code: -32603,
      message: 'Internal error',
      data: { details: '\u001b[31mthe disk\u001b[0m is full\u0007' },
    }
  const say = (text) =>
    update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  if (texts.some((text) => text === 'show')) show(sessionId)
  if (texts.some((text) => text === 'flood'))
    for (let n = 0; n < 3_000; n += 1) {
      const toolCallId = `call ${n}`
      update(sessionId, { sessionUpdate: 'tool_call', toolCallId, title: 'A call', status: 'completed' })
    }
  update(sessionId, { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'Let me see.' } })
  update(sessionId, { sessionUpdate: 'plan', entries: [] })
  for (const text of texts.filter((each) => !isService(each)))
    endings.push(...[...text.matchAll(/^= (.*)$/gm)].map(([, words]) => words.replaceAll('\\n', '\n')))
  while (texts.at(-1) === 'talk' && !cancelled) {
    say('Word after word. ')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const questions = texts.flatMap((text) => [...text.matchAll(/^\? (.*)$/gm)])
  for (const [, question] of questions) await askModel(question, say)
  queue = [...goOn(texts), ...commandsOf(texts)]
  while (queue.length > 0 && !cancelled) {
    say('Next:')
    await run(sessionId, queue.shift())
  }
  if (!cancelled) for (const text of endings.length > 0 ? [endings.shift()] : ['All ', 'done.']) say(text)
  prompting = false
  return { stopReason: cancelled ? 'cancelled' : 'end_turn' }
}

const METHODS = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: {
      loadSession: offers.includes('load'),
      promptCapabilities: { image: true },
      sessionCapabilities: offers.includes('resume') ? { resume: {} } : {},
    },
    _meta: { steering: { supported: offers.includes('steer') } },
  }),
  'session/new': ({ mcpServers }) => {
    const sessionId = randomUUID()
    appendFileSync(fileOf(sessionId), `${JSON.stringify({ mcpServers })}\n`)
    return { sessionId }
  },
  'session/resume': ({ sessionId }) => open(sessionId),
  'session/load': ({ sessionId }) => {
    open(sessionId)
    update(sessionId, {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: 'As I said before.' },
    })
    return {}
  },
  'session/prompt': prompt,
  'session/cancel': () => {
    if (offers.includes('stubborn')) return
    cancelled = true
    if (running) process.kill(-running.pid, 'SIGKILL')
  },
  '_session/steering': ({ sessionId, prompt: blocks }) => {
    if (!prompting) return { outcome: 'promptRequired' }
    appendFileSync(fileOf(sessionId), `${JSON.stringify({ steered: textsOf(blocks) })}\n`)
    queue.push(...commandsOf(textsOf(blocks)))
    return { outcome: 'injected' }
  },
}

function open(sessionId) {
  if (!existsSync(fileOf(sessionId))) throw { code: -32002, message: 'Resource not found' }
  return {}
}

console.log('A greeting, which is no message.')
createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, method, params, ...answer } = JSON.parse(line)
    if (method === undefined) return answers.get(id)?.(answer)
    try {
      const result = await METHODS[method](params)
      if (id !== undefined) send({ id, result })
    } catch (error) {
      if (id !== undefined)
        send({ id, error: { code: error.code ?? -32603, message: error.message } && error })
    }
  })
  .on('close', () => process.exit(0))

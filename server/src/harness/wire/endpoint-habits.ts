import { isRecord } from '../../contract/storable-text.ts'
import { AnswerLimit } from './answer-limit.ts'
import { asList, asRecord, asText } from './values.ts'

type Json = Record<string, unknown>

/** Where in a request a field stands that a server may refuse, and which there are not to be left out. */
const PLACES = {
  body: ['model', 'messages', 'tools', 'stream'],
  assistant: ['role', 'content', 'tool_calls'],
  call: ['id', 'type', 'function'],
  function: ['name', 'description', 'parameters'],
  tool: ['role', 'content', 'tool_call_id'],
} as const
type Place = keyof typeof PLACES | 'schema'
/** Words of a tool's schema that only narrow or explain. Without them the tool itself still refuses wrong input. */
const SCHEMA_WORDS =
  /^(\$schema|\$id|\$comment|title|default|examples?|format|pattern|additionalProperties|unevaluatedProperties|propertyNames|(min|max)(Length|Items|Properties|imum)|exclusive(Min|Max)imum|multipleOf|uniqueItems|readOnly|writeOnly|deprecated|contentEncoding|contentMediaType|strict)$/

const REFUSED =
  /unsupported|not supported|isn't supported|un(known|recogni[sz]ed|expected)|extra (inputs?|fields?)|additional propert|not (permitted|allowed|accepted|valid|recogni[sz]ed)|forbidden|does not support|invalid (field|parameter|argument|property|keyword)|cannot be (used|set)|must not|should not/i
const MISSING =
  /missing|required|must (be|contain|have|include)|passed back|should be (a )?(valid )?string|none is not|null|expected string/i
/** Fields of a message that hold what the model thought. */
export const THOUGHTS = /^(reasoning|thinking|thought)\w*$/
/** The private field that has what the model thought at that step; it is never sent. */
export const THOUGHTS_FIELD = 'runyard_thoughts'

const NO_SYSTEM =
  /(system|developer) (role|message|instruction|prompt)s?\b.{0,60}(not supported|not allowed|not enabled|unsupported)|does(n't| not) support (a )?(system|developer) (role|message|instruction|prompt)/i
/** Characters of a refusal that are looked at. */
const MAX_SAID = 4_000
/** The name that newer models have for `max_tokens`. */
const RENAMED = /max_completion_tokens/

/**
 * The fields that one model behind one address has refused or missed by name in requests of OpenAI's chat API. Each is learned
 * once and kept as long as this process lives.
 */
export class EndpointHabits {
  readonly #refused = new Set<string>()
  readonly #required = new Set<string>()
  readonly #limit = new AnswerLimit()

  /** The request as this server takes it. */
  apply(request: Json): Json {
    const body = this.#without('body', request)
    if (this.#refused.has('system')) body.messages = foldSystem(asList(body.messages))
    const names = new Map<string, string>()
    body.messages = asList(body.messages).map((message) => this.#applyMessage(asRecord(message), names))
    if (Array.isArray(body.tools)) body.tools = body.tools.map((tool) => this.#applyTool(asRecord(tool)))
    return this.#rename(this.#limit.apply(body))
  }

  /** Whether there is something new in what it said of this request; it is then to be sent again. */
  learn(request: Json, said: string): boolean {
    if (NO_SYSTEM.test(said)) return this.#note(this.#refused, 'system')
    if (this.#limit.isMeant(said) || RENAMED.test(said)) return this.#learnLimit(request, said)
    const refused = namesBeside(REFUSED, said).flatMap((name) => placesOf(request, name))
    const learned = refused.map((place) => this.#note(this.#refused, place)).some(Boolean)
    if (learned) return true
    return namesBeside(MISSING, said)
      .filter((name) => isMissable(request, name) && !this.#refused.has(`assistant ${name}`))
      .some((name) => this.#note(this.#required, name))
  }

  #note(known: Set<string>, name: string): boolean {
    const is_new = !known.has(name)
    known.add(name)
    return is_new
  }

  #learnLimit(request: Json, said: string): boolean {
    if (this.#limit.learn(request, said)) return true
    return (
      'max_tokens' in request && RENAMED.test(said) && this.#note(this.#required, 'max_completion_tokens')
    )
  }

  #rename({ max_tokens, ...request }: Json): Json {
    const is_renamed = this.#required.has('max_completion_tokens') && max_tokens !== undefined
    if (is_renamed) return { ...request, max_completion_tokens: max_tokens }
    return max_tokens === undefined ? request : { ...request, max_tokens }
  }

  #without(place: Place, fields: Json): Json {
    return Object.fromEntries(
      Object.entries(fields).filter(([name]) => !this.#refused.has(`${place} ${name}`)),
    )
  }

  /** `names`: of calls, by their ids. */
  #applyMessage(message: Json, names: Map<string, string>): Json {
    if (message.role === 'tool') return this.#applyResult(message, names)
    if (message.role !== 'assistant') return message
    const { [THOUGHTS_FIELD]: thoughts, ...told } = message
    const made = this.#without('assistant', told)
    for (const name of this.#required) {
      if (name === 'content') made.content ??= ''
      else if (THOUGHTS.test(name)) made[name] ??= asText(thoughts) ?? ''
    }
    if (!Array.isArray(made.tool_calls)) return made
    made.tool_calls = made.tool_calls.map((call) => {
      const { id, function: called } = asRecord(call)
      names.set(asText(id) ?? '', asText(asRecord(called).name) ?? '')
      return this.#without('call', asRecord(call))
    })
    return made
  }

  #applyResult(message: Json, names: ReadonlyMap<string, string>): Json {
    const made = this.#without('tool', message)
    if (this.#required.has('name')) made.name ??= names.get(asText(message.tool_call_id) ?? '')
    return made
  }

  #applyTool(tool: Json): Json {
    const called = this.#without('function', asRecord(tool.function))
    return { ...tool, function: { ...called, parameters: this.#applySchema(called.parameters) } }
  }

  #applySchema(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.#applySchema(item))
    if (!isRecord(schema)) return schema
    const kept = Object.entries(this.#without('schema', schema))
    return Object.fromEntries(
      kept.map(([word, value]) => [
        word,
        word === 'properties' ? this.#applyProperties(value) : this.#applySchema(value),
      ]),
    )
  }

  /** Their names are the tool's own, and no words of a schema. */
  #applyProperties(properties: unknown): unknown {
    return Object.fromEntries(
      Object.entries(asRecord(properties)).map(([name, schema]) => [name, this.#applySchema(schema)]),
    )
  }
}

/** Behind these words stand names of what would be right. */
const RIGHT =
  /expected one of|one of the following|allowed (values|fields|keys)|valid (fields|keys|parameters)|supported (values|fields)|instead|must be one of|did you mean|\bor (set|use)\b/i
/** Characters between a name and the word that refuses it. */
const NEAR = 100

/** Names beside a word: quoted, or given as the place in the request: `messages.2.reasoning`, `body -> stream_options`. */
function namesBeside(words: RegExp, whole: string): string[] {
  const at = whole.search(RIGHT)
  const said = (at < 0 ? whole : whole.slice(0, at)).slice(0, MAX_SAID)
  const patterns = [
    /[`'"‘“]([\w$.[\]-]{2,80})[`'"’”]/g,
    /\b((?:messages|tools|body|input)(?:[.[\]]|\s*->\s*)[\w$.[\] >-]{1,200})/g,
    /\b(?:argument|parameter|param|field|property|key|keyword)s?(?: supplied| name)?:?\s+([a-z$][\w$.]{0,80})/gi,
  ]
  const found = [...said.matchAll(new RegExp(words, 'gi'))].map((match) => match.index)
  const names = patterns.flatMap((pattern) =>
    [...said.matchAll(pattern)]
      .filter((match) => found.some((place) => Math.abs(place - match.index) <= NEAR + match[0].length))
      .flatMap(([, path = '']) => path.split(/[^\w$]+/)),
  )
  return [...new Set(names.filter((name) => /^[A-Za-z$]/.test(name)))]
}

/** Where in a request a field of that name stands that can be left out. */
function placesOf(request: Json, name: string): string[] {
  const messages = asList(request.messages).map(asRecord)
  const assistants = messages.filter(({ role }) => role === 'assistant')
  const functions = asList(request.tools).map((tool) => asRecord(asRecord(tool).function))
  const found: Record<keyof typeof PLACES, Json[]> = {
    body: [request],
    assistant: assistants,
    call: assistants.flatMap(({ tool_calls }) => asList(tool_calls).map(asRecord)),
    function: functions,
    tool: messages.filter(({ role }) => role === 'tool'),
  }
  const places = (Object.keys(PLACES) as Array<keyof typeof PLACES>).filter((place) => {
    const kept: readonly string[] = PLACES[place]
    return !kept.includes(name) && found[place].some((fields) => name in fields)
  })
  const in_schema = SCHEMA_WORDS.test(name) && functions.some(({ parameters }) => holdsWord(parameters, name))
  return [...places, ...(in_schema ? ['schema'] : [])].map((place) => `${place} ${name}`)
}

const holdsWord = (schema: unknown, name: string): boolean =>
  Array.isArray(schema)
    ? schema.some((item) => holdsWord(item, name))
    : isRecord(schema) && (name in schema || Object.values(schema).some((value) => holdsWord(value, name)))

/** Whether an assistant's message, or a result, may lack the field. */
function isMissable({ messages }: Json, name: string): boolean {
  const told = asList(messages).map(asRecord)
  if (name === 'name') return told.some(({ role }) => role === 'tool')
  const assistants = told.filter(({ role }) => role === 'assistant')
  if (name === 'content') return assistants.some(({ content }) => content == null)
  return THOUGHTS.test(name) && assistants.some((message) => !(name in message))
}

/** Instructions before the first message of the user. */
function foldSystem(messages: readonly unknown[]): unknown[] {
  const told = messages.map(asRecord)
  const instructions = told
    .filter(({ role }) => role === 'system')
    .map(({ content }) => asText(content) ?? '')
  const others = told.filter(({ role }) => role !== 'system')
  const at = others.findIndex(({ role, content }) => role === 'user' && typeof content === 'string')
  return others.map((message, place) =>
    place === at ? { ...message, content: [...instructions, message.content].join('\n\n') } : message,
  )
}

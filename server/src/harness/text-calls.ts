/**
 * Calls of tools that a model printed as text: its server did not read them, or it never learned to make real ones. Nothing was
 * executed, so such an answer is not the end of a task.
 */

/** How the formats of models begin a call, with the name behind it where there is one. */
const OPENINGS: readonly RegExp[] = [
  /<\/?(?:tool_calls?|function_calls?|toolcall|functioncall|tool_use|antml:function_calls|antml:invoke|\|tool_calls?\|?|\|tool_call_begin\|)>/i,
  /<(?:antml:)?(?:invoke|function|tool|tool_call)\s+name=["']?(?<name>[\w.-]+)/i,
  /<(?:function|tool)=["']?(?<name>[\w.-]+)/i,
  /<\|(?:python_tag|tool_calls?_(?:section_)?begin|tool▁calls?▁begin|action_start|plugin|start_of_tool_call)\|>/i,
  /<｜tool▁calls?▁begin｜>/,
  /<\|channel\|>\s*commentary\s+to=(?:functions\.)?(?<name>[\w.-]+)/i,
  /\[(?:TOOL_CALLS?|TOOL_REQUEST|ARGS)\]/,
  /^\s*(?:Action|Tool):\s*(?<name>[\w.-]+)\s*\n\s*(?:Action Input|Input|Arguments):/im,
  /\bdefault_api\.(?<name>\w+)\(/,
  /\bfunctions\.(?<name>[\w.-]+):\d+/,
]
/** The longest text that is looked at, from its end: a call that was meant is the last thing. */
const LOOKED_AT = 20_000

/** Whether the text of an answer without calls ends in what was meant as one of these tools. */
export function printsCall(text: string, tools: ReadonlySet<string>): boolean {
  const end = text.slice(-LOOKED_AT).trimEnd()
  return (
    OPENINGS.some((opening) => opens(end, opening, tools)) ||
    endsInJsonCall(end, tools) ||
    isTagCall(end, tools)
  )
}

/** An answer may be about such formats: what is meant names one of the tools, and nothing of the answer comes behind it. */
function opens(text: string, opening: RegExp, tools: ReadonlySet<string>): boolean {
  const at = text.search(opening)
  if (at < 0 || isQuoted(text, at)) return false
  const { name } = opening.exec(text)?.groups ?? {}
  const rest = text.slice(at)
  if (name !== undefined && !tools.has(name.split('.').at(-1) ?? '')) return false
  if (name === undefined && ![...tools].some((tool) => rest.includes(tool))) return false
  return /[>}\])|`"'｜]$|^[^\n]*$/.test(rest.slice(-200))
}

/** Inside a code block that was not ended before, or between backticks. */
function isQuoted(text: string, at: number): boolean {
  const before = text.slice(0, at)
  const fences = before.match(/^\s*(```|~~~)/gm)?.length ?? 0
  const line = before.slice(before.lastIndexOf('\n') + 1)
  return (
    (fences % 2 === 1 && before.trim().split('\n').length > 2) || (line.match(/`/g)?.length ?? 0) % 2 === 1
  )
}

/** `{"name": "bash", "arguments": {…}}`, alone or at the end, or as a block of code there. */
function endsInJsonCall(text: string, tools: ReadonlySet<string>): boolean {
  try {
    const told: unknown = JSON.parse(lastJson(text))
    const [first] = [told].flat()
    return isCall(first, tools)
  } catch {
    return false
  }
}

function lastJson(text: string): string {
  if (text.endsWith('```')) {
    const fence = text.lastIndexOf('```', text.length - 4)
    return fence < 0 ? '' : text.slice(text.indexOf('\n', fence) + 1, -3)
  }
  return /^\s*[[{]/.test(text) ? text : text.slice(text.search(/\n[[{]["{\s]/) + 1)
}

function isCall(told: unknown, tools: ReadonlySet<string>): boolean {
  if (typeof told !== 'object' || told === null) return false
  const call: Record<string, unknown> = { ...told }
  if (typeof call.function === 'object' && call.function !== null) return isCall(call.function, tools)
  const name = call.name ?? call.tool ?? call.tool_name ?? call.function ?? call.action
  const has_input = ['arguments', 'parameters', 'input', 'args', 'action_input', 'tool_input'].some(
    (key) => key in call,
  )
  return typeof name === 'string' && tools.has(name.replace(/^functions\./, '')) && has_input
}

/** `<bash><command>ls</command></bash>`, with the tool as the tag. */
function isTagCall(text: string, tools: ReadonlySet<string>): boolean {
  const [, name = ''] = /<\/([a-z_]\w*)>$/.exec(text.slice(-100)) ?? []
  if (!tools.has(name)) return false
  const at = text.lastIndexOf(`<${name}>`)
  return at === 0 || text[at - 1] === '\n'
}

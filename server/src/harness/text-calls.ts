/**
 * Calls of tools that a model printed as text: its server did not read them, or it never learned to make real ones. Nothing was
 * executed, so such an answer is not the end of a task.
 */

/** How the formats of models begin a call, at the beginning of a line; with the name where it is part of that. */
const OPENINGS: readonly RegExp[] = [
  /^[ \t]*<(?:tool_calls?|function_calls?|toolcall|functioncall|tool_use|tools|antml:function_calls|\|tool_calls?\|?|\|tool_call_begin\|)>/im,
  /^[ \t]*<(?:antml:|｜DSML｜)?(?:invoke|function|tool|tool_call)\s+name=["']?(?<name>[\w.-]+)/im,
  /^[ \t]*<(?:function|tool)=["']?(?<name>[\w.-]+)/im,
  /^[ \t]*<\|(?:python_tag|tool_calls?_(?:section_)?begin|tool▁calls?▁begin|action_start|plugin|start_of_tool_call)\|>/im,
  /^[ \t]*<｜(?:tool▁calls?▁begin|DSML｜function_calls)[｜>]/m,
  /^[ \t]*<\|channel\|>\s*commentary\s+to=(?:functions\.)?(?<name>[\w.-]+)/im,
  /^[ \t]*to=functions\.(?<name>[\w.-]+)/im,
  /^[ \t]*(?:\[(?:TOOL_CALLS?|TOOL_REQUEST|ARGS)\]|functools\[)/m,
  /^[ \t]*(?:Action|Tool):[ \t]*(?<name>[\w.-]+)[ \t]*\n[ \t]*(?:Action Input|Input|Arguments):/im,
  /^[ \t]*(?:print\()?default_api\.(?<name>\w+)\(/m,
  /^[ \t]*functions\.(?<name>[\w.-]+):\d+/m,
  /^[ \t]*\[(?<name>\w+)\(\w+=/m,
]
/** The longest text that is looked at, from its end: a call that was meant is the last thing. */
const LOOKED_AT = 20_000
/** Characters before a call in a block of code. */
const MAX_LEAD = 300
/** Behind an opening without a name. */
const NAME_WITHIN = 200

/** Whether the text of an answer without calls has what was meant as a call of one of these tools. */
export function printsCall(text: string, tools: ReadonlySet<string>): boolean {
  const end = text.slice(-LOOKED_AT).trimEnd()
  return (
    OPENINGS.some((opening) => opens(end, opening, tools)) ||
    endsInJsonCall(end, tools) ||
    isTagCall(end, tools)
  )
}

/** An answer may be about such formats: what is meant begins a line and names one of the tools. */
function opens(text: string, opening: RegExp, tools: ReadonlySet<string>): boolean {
  const found = opening.exec(text)
  if (!found || isQuoted(text, found.index)) return false
  const { name } = found.groups ?? {}
  if (name !== undefined) return tools.has(name.split('.').at(-1) ?? '')
  const rest = text.slice(found.index + found[0].length).slice(0, NAME_WITHIN)
  const named = /(?:"name"\s*:\s*"|name=["']?|[=>｜:.]|\bfunction[^\w\s]+|^\s*)(?:functions\.)?([\w-]+)/g
  return [...rest.matchAll(named)].some(([, word = '']) => tools.has(word))
}

/** Inside a code block that stands in the middle of other words. */
function isQuoted(text: string, at: number): boolean {
  const before = text.slice(0, at)
  const fences = before.match(/^[ \t]*(```|~~~)/gm)?.length ?? 0
  return fences % 2 === 1 && before.trim().split('\n').length > 2
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
    // Behind a longer text it is what the text is about.
    return fence < 0 || fence > MAX_LEAD ? '' : text.slice(text.indexOf('\n', fence) + 1, -3)
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

import type { ChatMessage, ChatRequest, Reply } from './model-server.ts'

export const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n')

/** Some agents join what was said before a turn was cancelled with what was said after it. */
export const ONLY = 'No more of that, only this:'

/** What agents call their tool for commands. */
const SHELL = /^(bash|run_shell_command|shell_command|exec_command|shell|developer__shell)$/i

/** What of the conversation is the run's: agents ask for titles and suggestions too, and tell the model of themselves. */
export const said = ({ messages }: ChatRequest): ChatMessage[] =>
  messages.filter(({ role }) => role !== 'system' && role !== 'developer')

/**
 * A model that runs the lines after `$` of the last message, one after the other. What it is told to run stands in the prompt,
 * so that nothing of a script is bound to an order of requests.
 */
export function obeyAgent(request: ChatRequest, gone: (text: string) => Reply | null): Reply {
  const tool = request.tools?.find(({ function: { name } }) => SHELL.test(name))
  const messages = said(request)
  if (!tool) {
    const scripted = gone(messages.map(textOf).join('\n'))
    // A provider that refuses a key refuses all that is asked with it.
    return scripted?.error ? scripted : { text: 'A title' }
  }
  const asked = messages.findLastIndex((message) => message.role === 'user' && /^\$ /m.test(textOf(message)))
  const text = asked < 0 ? '' : textOf(messages[asked] ?? { role: 'user', content: '' })
  const wanted = text.split(ONLY).at(-1) ?? ''
  const commands = [...wanted.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command)
  const done = messages.slice(asked + 1).filter(({ role }) => role === 'tool').length
  const command = commands[done]
  const scripted = gone(wanted)
  if (scripted) return scripted
  if (command === undefined) return { text: ['All ', 'done.'] }
  const input = tool.function.name === 'exec_command' ? { cmd: command } : { command, description: 'Next' }
  return { text: ['Let me ', 'see.'], calls: [{ name: tool.function.name, arguments: input }] }
}

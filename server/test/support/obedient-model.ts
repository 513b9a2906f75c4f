import type { ChatMessage, ChatRequest, Reply } from './model-server.ts'

/** A model that runs the lines after `$` of the user's messages, and repeats a command whose worker was lost. */
export function obey({ messages }: ChatRequest): Reply {
  const lastStop = messages.findLastIndex((message) =>
    /^interrupted: the turn was stopped/.test(textOf(message)),
  )
  const since = messages.slice(lastStop + 1)
  const commands = since.flatMap((message) =>
    message.role === 'user'
      ? [...textOf(message).matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command)
      : [],
  )
  const done = since.filter((message) => message.role === 'tool' && !/^interrupted: /.test(textOf(message)))
  const command = commands[done.length]
  if (command === undefined) return { text: ['All ', 'done.'] }
  return { reasoning: ['Let me see.'], text: 'Next:', calls: [{ name: 'bash', arguments: { command } }] }
}

const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')

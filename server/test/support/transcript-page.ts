import type { RunEvent } from '../../src/contract/event.ts'

/** What in a run is the same each time, as a page for people: what was said and called, and how it ended. */
export function writeTranscript(events: readonly RunEvent[], patch: string): string {
  const results = new Map(
    events.flatMap((event) =>
      event.type === 'tool.result' ? [[event.data.tool_call_id, event.data] as const] : [],
    ),
  )
  const parts = events.flatMap((event): string[] => {
    switch (event.type) {
      case 'message.user':
        return [`**User:** ${event.data.text}`]
      case 'message.assistant':
        return event.data.text === '' ? [] : [`**Agent:** ${event.data.text}`]
      case 'tool.call': {
        const { name, input, tool_call_id } = event.data
        // What else there is to a command, an agent says now and then.
        const told =
          typeof input.command === 'string'
            ? `$ ${input.command}`
            : `${name} ${JSON.stringify(input, null, 2)}`
        const result = results.get(tool_call_id)
        const code = result?.exit_code
        const end = typeof code === 'number' ? `exit code ${code}` : result?.is_error ? 'failed' : 'done'
        return [`\`\`\`\n${told}\n→ ${end}\n\`\`\``]
      }
      case 'artifact.created': {
        const { filename, diff } = event.data
        if (!diff) return []
        const { files_changed, additions, deletions } = diff
        return [`*Kept \`${filename}\`: ${files_changed} file, +${additions} −${deletions}*`]
      }
      default:
        return event.type === 'run.state' && event.data.state === 'SUCCEEDED' ? ['*Succeeded*'] : []
    }
  })
  return [...parts, `\`\`\`diff\n${patch.trimEnd()}\n\`\`\``].join('\n\n')
}

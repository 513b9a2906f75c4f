import type { RunEvent, Runyard } from '@runyard/client'
import { saveFile } from '../ui/save-file.ts'

/** Events a page of the log. */
const PAGE = 1000

/** Saves all that one call printed, as the log has it: what the page shows is its end only. */
export async function saveOutput(client: Runyard, run_id: string, tool_call_id: string): Promise<void> {
  const chunks: string[] = []
  for await (const event of readEvents(client, run_id)) {
    if (event.type === 'tool.output' && event.data.tool_call_id === tool_call_id) chunks.push(event.data.text)
  }
  saveFile(new Blob(chunks, { type: 'text/plain' }), `output-${tool_call_id}.txt`)
}

/**
 * Saves the log as JSON Lines. The transcript has the same, but its link is of the service's public address, and this page may
 * have been opened at another one of it.
 */
export async function saveLog(client: Runyard, run_id: string): Promise<void> {
  const lines: string[] = []
  for await (const event of readEvents(client, run_id)) lines.push(`${JSON.stringify(event)}\n`)
  saveFile(new Blob(lines, { type: 'application/jsonl' }), `${run_id}.jsonl`)
}

async function* readEvents(client: Runyard, run_id: string): AsyncGenerator<RunEvent> {
  for (let after = 0, has_more = true; has_more; ) {
    const page = await client.runs.events(run_id, { after, limit: PAGE })
    yield* page.events
    after = page.events.at(-1)?.sequence ?? after
    has_more = page.has_more
  }
}

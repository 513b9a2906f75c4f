import type { Runyard } from '@runyard/client'
import { saveFile } from '../ui/save-file.ts'

/** Events a page of the log. */
const PAGE = 1000

/** Saves all that one call printed, as the log has it: what the page shows is its end only. */
export async function saveOutput(client: Runyard, run_id: string, tool_call_id: string): Promise<void> {
  const chunks: string[] = []
  for (let after = 0, has_more = true; has_more; ) {
    const page = await client.runs.events(run_id, { after, limit: PAGE })
    for (const event of page.events) {
      if (event.type === 'tool.output' && event.data.tool_call_id === tool_call_id)
        chunks.push(event.data.text)
    }
    after = page.events.at(-1)?.sequence ?? after
    has_more = page.has_more
  }
  saveFile(new Blob(chunks, { type: 'text/plain' }), `output-${tool_call_id}.txt`)
}

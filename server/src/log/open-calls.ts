import type { RunEvent, StoredEvent } from '../contract/event.ts'
import { closesMessages } from './interruption.ts'

type Call = StoredEvent<'tool.call'>

/** The calls of a log, event by event, that run: they have no result, wait for nobody, and their worker was not lost. */
export class OpenCalls {
  readonly #running = new Map<string, Call>()
  readonly #asked = new Map<string, Call>()
  #run_id = ''

  see(event: RunEvent): void {
    // What another run left open, its own log has closed or nobody will.
    if (event.run_id !== this.#run_id || closesMessages(event) || event.type === 'attempt.lost')
      this.#running.clear()
    this.#run_id = event.run_id
    if (event.type === 'tool.call') this.#running.set(event.data.tool_call_id, event)
    else if (event.type === 'tool.result') this.#running.delete(event.data.tool_call_id)
    else if (event.type === 'approval.requested') this.#wait(event.data)
    else if (event.type === 'approval.answered' && event.data.decision !== 'deny')
      this.#goOn(event.data.approval_id)
  }

  list(): Call[] {
    return [...this.#running.values()]
  }

  #wait({ approval_id, tool_call_id }: { approval_id: string; tool_call_id: string }): void {
    const call = this.#running.get(tool_call_id)
    if (call) this.#asked.set(approval_id, call)
    this.#running.delete(tool_call_id)
  }

  #goOn(approval_id: string): void {
    const call = this.#asked.get(approval_id)
    if (call) this.#running.set(call.data.tool_call_id, call)
  }
}

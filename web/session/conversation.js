// @ts-check
import { make, makePageLink, makeTime } from './dom.js'
import { Prose } from './prose.js'
import { SetupBlock } from './setup-block.js'
import { formatBytes, formatDuration, plainText } from './text.js'
import { ToolBlock } from './tool-block.js'

/** @typedef {import('./feed.js').RunEvent} RunEvent */
/** @typedef {import('./feed.js').Delta} Delta */
/** @typedef {{ text: string, prose: Prose, element: HTMLElement }} Draft */

/** @type {Record<string, string>} */
const ENDS = {
  SUCCEEDED: 'Succeeded',
  FAILED: 'Failed',
  ERROR: 'Failed by a fault of the service',
  BLOCKED: 'Waiting for an answer',
  CANCELLED: 'Cancelled',
}

/**
 * The log of a run as a page. Entries stand in the order of the log; messages on their way and follow-ups that wait stand
 * behind it, and move into it with the event that makes them part of it: a page that was open all the time looks like
 * one that is opened later.
 */
export class Conversation {
  #log
  #drafts
  #waiting
  #creator
  /** @type {Map<string, Draft>} */
  #messages = new Map()
  /** @type {Map<string, HTMLElement>} */
  #followups = new Map()
  /** @type {Map<string, ToolBlock>} */
  #tools = new Map()
  /** @type {Set<ToolBlock>} */
  #running = new Set()
  /** @type {Set<ToolBlock>} */
  #changed_tools = new Set()
  /** @type {Set<Draft>} */
  #changed_drafts = new Set()
  /** @type {SetupBlock | undefined} */
  #setup
  #claimed_at = 0
  #news = ''

  /**
   * @param {{ log: HTMLElement, drafts: HTMLElement, waiting: HTMLElement }} places
   * @param {string} creator Name of who asked for the run.
   */
  constructor({ log, drafts, waiting }, creator) {
    this.#log = log
    this.#drafts = drafts
    this.#waiting = waiting
    this.#creator = creator
  }

  /** What the agent does at the moment, where a tool says it. */
  get running_tool() {
    return [...this.#running].at(-1)?.name
  }

  /** @param {RunEvent} event */
  apply(event) {
    this.#handlers[event.type]?.(event.data, event.occurred_at)
  }

  /** @param {Delta} delta */
  applyDelta({ message_id, offset, text }) {
    let draft = this.#messages.get(message_id)
    if (!draft) {
      const prose = new Prose()
      draft = { text: '', prose, element: make('article', 'said', prose.element) }
      this.#messages.set(message_id, draft)
      this.#drafts.append(draft.element)
    }
    draft.text = draft.text.slice(0, offset) + text
    this.#changed_drafts.add(draft)
  }

  /** Ends a portion of events with what is done once for all of them. Returns what is worth saying aloud. */
  settle() {
    for (const draft of this.#changed_drafts) draft.prose.update(draft.text)
    this.#changed_drafts.clear()
    const overflowing = [...this.#changed_tools].filter((tool) => tool.settle())
    for (const tool of overflowing) tool.offerAll()
    this.#changed_tools.clear()
    const news = this.#news
    this.#news = ''
    return news
  }

  /** @param {number} now */
  tick(now) {
    for (const tool of this.#running) tool.tick(now)
  }

  /** @type {Record<string, (data: Record<string, any>, at: string) => void>} */
  #handlers = {
    'run.state': (data, at) => this.#changeState(data, at),
    'attempt.lost': (data) => {
      this.#dropUnfinished()
      this.#note('warning', `Attempt ${data.attempt} was lost: ${data.reason}`, 'Another worker takes over.')
    },
    setup: (data) => {
      if (!this.#setup) {
        this.#setup = new SetupBlock()
        this.#log.append(this.#setup.element)
      }
      this.#setup.apply(/** @type {import('./setup-block.js').SetupData} */ (data))
    },
    'message.user': (data, at) => {
      this.#settleFollowup(data.followup_id)
      this.#log.append(makeUserMessage({ author: this.#creator, ...data }, makeTime(at)))
    },
    'message.assistant': (data) => {
      const prose = this.#messages.get(data.message_id)?.prose ?? new Prose()
      this.#messages.get(data.message_id)?.element.remove()
      this.#messages.delete(data.message_id)
      prose.update(data.text)
      this.#log.append(make('article', 'said', prose.element))
      this.#news = plainText(data.text).slice(0, 300)
    },
    reasoning: (data) => {
      if (!data.text.trim()) return
      this.#log.append(
        make('details', 'reasoning', make('summary', '', 'Reasoning'), new Prose(data.text).element),
      )
    },
    'tool.call': (data, at) => {
      const tool = new ToolBlock(
        /** @type {{ name: string, input: Record<string, unknown>, title?: string }} */ (data),
        Date.parse(at),
      )
      this.#tools.set(data.tool_call_id, tool)
      this.#running.add(tool)
      this.#changed_tools.add(tool)
      this.#log.append(tool.element)
    },
    'tool.output': (data) => {
      const tool = this.#tools.get(data.tool_call_id)
      if (!tool) return
      tool.append(data.stream, data.text)
      this.#changed_tools.add(tool)
    },
    'tool.result': (data) => {
      const tool = this.#tools.get(data.tool_call_id)
      if (!tool) return
      tool.end(/** @type {import('./tool-block.js').ToolResult} */ (data))
      this.#running.delete(tool)
      this.#changed_tools.add(tool)
      if (data.is_error) this.#news = `${tool.name}: failed`
    },
    'followup.accepted': (data, at) => {
      const { followup_id, message, author } = data
      const element = makeUserMessage({ text: message, author }, makeTime(at), 'waits for the agent')
      this.#followups.set(followup_id, element)
      this.#waiting.append(element)
    },
    interrupted: (data) => {
      this.#dropUnfinished()
      this.#note('warning', data.by ? `Interrupted by ${data.by}.` : 'Interrupted.')
    },
    'approval.requested': ({ tool_call_id, tool, title, input }) => {
      const call = this.#tools.get(tool_call_id)
      // Those behind it have not begun either, and go on when it does.
      for (const each of this.#running) each.wait()
      this.#running.clear()
      if (call) this.#changed_tools.add(call)
      const what = input ? `${title ?? tool} ${JSON.stringify(input)}` : (title ?? tool)
      this.#note('warning', `Asks to be allowed: ${what}`)
    },
    'approval.answered': ({ decision, author, reason }) => {
      const said =
        decision === 'deny' ? 'Denied' : decision === 'allow_always' ? 'Allowed from now on' : 'Allowed'
      this.#note('warning', `${said} by ${author}`, reason ?? '')
    },
    'artifact.created': (data) => {
      if (data.artifact_type === 'PLAN') this.#note('artifact', `Plan: ${data.title}`)
      else this.#note('artifact', `Kept ${data.title ?? data.filename}`, formatBytes(data.size_bytes))
    },
    'reference.reported': ({ url, title, reference_type }) => {
      const kind = plainText(reference_type).toLowerCase().replaceAll('_', ' ')
      const link = makePageLink(url, plainText(title ?? url))
      this.#log.append(
        make('p', 'note artifact', make('span', '', 'Reported '), link, make('span', 'soft', kind)),
      )
    },
    'changes.pushed': ({ pull_request, branch, repository, url }) => {
      const what = pull_request
        ? `pull request #${pull_request.number} of ${repository}`
        : `${branch} of ${repository}`
      this.#log.append(
        make('p', 'note artifact', make('span', '', 'Pushed '), makePageLink(url, plainText(what))),
      )
    },
    retrying: ({ message, delay_ms, retry }) => {
      const seconds = Math.ceil(delay_ms / 1_000)
      this.#note('warning', message, `trying again in ${seconds} s (${retry})`)
    },
    'context.compacted': ({ summary, tokens_before, tokens_after }) => {
      const tokens = [tokens_before, tokens_after].map((count) => Number(count).toLocaleString('en'))
      const title = `The conversation was summarised: ${tokens.join(' → ')} tokens`
      this.#log.append(make('details', 'reasoning', make('summary', '', title), new Prose(summary).element))
    },
    'egress.refused': (data) => this.#note('warning', data.message),
    error: (data) => this.#log.append(makeEnd('ERROR', data.message, data.error_code)),
  }

  /**
   * @param {Record<string, any>} data
   * @param {string} at
   */
  #changeState({ state, previous_state, status_message }, at) {
    if (state === 'CLAIMED' || state === 'INPROGRESS') {
      this.#claimed_at ||= Date.parse(at)
      if (state === 'INPROGRESS') this.#closeSetup()
      return
    }
    this.#closeSetup()
    this.#dropUnfinished()
    const worked = this.#claimed_at ? Date.parse(at) - this.#claimed_at : 0
    this.#claimed_at = 0
    if (state in ENDS) {
      const took = worked > 0 ? ` after ${formatDuration(worked)}` : ''
      const message = status_message?.message ?? ''
      this.#log.append(makeEnd(state, message, status_message?.error_code, took))
    } else if (previous_state in ENDS) this.#note('', 'A follow-up continues the run.')
  }

  #closeSetup() {
    this.#setup?.close()
    this.#setup = undefined
  }

  /** What was on its way will not come any more. */
  #dropUnfinished() {
    this.#messages.clear()
    this.#drafts.replaceChildren()
    for (const tool of this.#running) tool.abandon()
    this.#running.clear()
  }

  /** @param {string | undefined} followup_id */
  #settleFollowup(followup_id) {
    if (followup_id === undefined) return
    this.#followups.get(followup_id)?.remove()
    this.#followups.delete(followup_id)
  }

  /**
   * @param {string} kind
   * @param {string} text
   * @param {string} [more]
   */
  #note(kind, text, more) {
    const soft = more === undefined ? null : make('span', 'soft', more)
    this.#log.append(make('p', `note ${kind}`, make('span', '', plainText(text)), soft))
  }
}

/**
 * @param {{ text?: string, author?: string, attachments?: { file_name: string }[] }} message
 * @param {HTMLElement} time
 * @param {string} [remark]
 */
function makeUserMessage({ text = '', author, attachments = [] }, time, remark) {
  const prose = new Prose(text)
  // A prompt of a thousand lines must not push the answer off the page.
  if (text.length > 1500 || text.split('\n').length > 24) {
    prose.element.classList.add('long')
    prose.element.tabIndex = 0
  }
  const by = make('p', 'by', make('span', 'name', plainText(author ?? 'Follow-up')), time)
  if (remark) by.append(make('span', '', remark))
  const files = attachments.map((file) => make('li', '', plainText(file.file_name)))
  const list = files.length > 0 ? make('ul', 'files', ...files) : null
  return make('article', `asked${remark ? ' is-waiting' : ''}`, by, prose.element, list)
}

/**
 * @param {string} state
 * @param {string} message
 * @param {string | undefined} error_code
 * @param {string} [took]
 */
function makeEnd(state, message, error_code, took = '') {
  const element = make('div', 'end', make('p', 'end-title', `${ENDS[state]}${took}`))
  element.dataset.state = state
  if (message) element.append(make('p', '', plainText(message)))
  if (error_code) {
    const link = make('a', '', error_code)
    link.href = `/docs/errors/${encodeURIComponent(error_code)}`
    element.append(make('p', 'soft small', 'What it means: ', link))
  }
  return element
}

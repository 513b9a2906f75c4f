import type { EventData, NewEvent } from '../contract/event.ts'
import { type Approval, readApprovals } from '../log/approvals.ts'
import { isNotMade } from './approvals.ts'
import type { Execution } from './harness.ts'
import { describeCall, judgeCall, type Verdict } from './permissions.ts'

type Call = Pick<EventData<'tool.call'>, 'tool_call_id' | 'name' | 'input'>

type Given = Pick<Execution, 'permissions' | 'mask'> & { run: Pick<Execution['run'], 'cwd'> }

/** Decides on the calls of one session by the run's permissions, and by what somebody has answered about earlier calls. */
export class CallGate {
  readonly #execution: Given
  /** Ids of approvals that were for one call, which has been made. */
  readonly #used = new Set<string>()

  constructor(execution: Given) {
    this.#execution = execution
  }

  /** `names`: of the tool, where there are more than the call's own. */
  judge(log: readonly NewEvent[], call: Call, names: readonly string[] = [call.name]): Verdict {
    const { permissions = [], run } = this.#execution
    if (permissions.every((rules) => rules.length === 0)) return { action: 'allow' }
    const approvals = readApprovals(log)
    const granted = approvals.flatMap(({ request, answer }) =>
      answer?.decision === 'allow_always' ? [request.rule] : [],
    )
    const verdict = judgeCall(permissions, describeCall(names, call.input, run.cwd), granted)
    const grant = verdict.action === 'ask' && approvals.find((approval) => this.#isFor(approval, call, log))
    if (!grant) return verdict
    this.#used.add(grant.request.approval_id)
    return { action: 'allow' }
  }

  /** Whether it allows this call, once, in the place of one that could not be carried out as it was stored. */
  #isFor({ request, call, answer, result }: Approval, made: Call, log: readonly NewEvent[]): boolean {
    if (answer?.decision !== 'allow_once' || this.#used.has(request.approval_id)) return false
    if (!call || !result || !isNotMade(result) || !this.#isSame(call, made)) return false
    const answered = log.findIndex(({ data }) => data === answer)
    const at = log.findIndex(
      ({ type, data }) => type === 'tool.call' && data.tool_call_id === made.tool_call_id,
    )
    const since = log.slice(answered + 1, at === -1 ? log.length : at)
    return !since.some(
      ({ type, data }) => type === 'tool.call' && this.#mayBe(data, made) && !isLost(data, log),
    )
  }

  /** One whose input was told too late for its event may have been the same. */
  #mayBe(stored: Call, made: Call): boolean {
    const is_untold = stored.name === made.name && Object.keys(stored.input).length === 0
    return is_untold || this.#isSame(stored, made)
  }

  #isSame(one: Call, other: Call): boolean {
    const { mask } = this.#execution
    return one.name === other.name && mask(JSON.stringify(one.input)) === mask(JSON.stringify(other.input))
  }
}

/** It was made, and nobody knows how far it came: whoever allowed it wanted it done. */
const isLost = ({ tool_call_id }: Call, log: readonly NewEvent[]): boolean =>
  log.some(
    ({ type, data }) => type === 'tool.result' && data.tool_call_id === tool_call_id && isNotMade(data),
  )

import type { EventData, NewEvent } from '../contract/event.ts'
import { type Approval, readApprovals } from '../log/approvals.ts'
import { isInterrupted } from '../log/interruption.ts'
import type { Execution } from './harness.ts'
import { describeCall, judgeCall, type Verdict } from './permissions.ts'

type Call = Pick<EventData<'tool.call'>, 'name' | 'input'>

/** Decides on the calls of one session by the run's permissions, and by what somebody has answered about earlier calls. */
export class CallGate {
  readonly #execution: Pick<Execution, 'permissions' | 'run' | 'mask'>
  /** Ids of approvals that were for one call, which has been made. */
  readonly #used = new Set<string>()

  constructor(execution: Pick<Execution, 'permissions' | 'run' | 'mask'>) {
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
    const grant = verdict.action === 'ask' && approvals.find((approval) => this.#isFor(approval, call))
    if (!grant) return verdict
    this.#used.add(grant.request.approval_id)
    return { action: 'allow' }
  }

  /** Whether it allows this call, once, in the place of one that could not be carried out as it was stored. */
  #isFor({ request, call, answer, result }: Approval, made: Call): boolean {
    if (answer?.decision !== 'allow_once' || this.#used.has(request.approval_id)) return false
    if (!call || !result || !isInterrupted(result) || call.name !== made.name) return false
    const { mask } = this.#execution
    return mask(JSON.stringify(call.input)) === mask(JSON.stringify(made.input))
  }
}

import type { NewEvent } from '../contract/event.ts'
import type { Egress, Refusal } from '../gateway/gateway.ts'
import type { PushOutcome, PushRequest } from '../harness/harness.ts'
import type { Budget } from './budget.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { describeUsage } from './model-access.ts'
import type { Workspace } from './prepare.ts'
import { pushChanges } from './push-changes.ts'
import type { WorkspacePlan } from './workspace-plan.ts'

interface WayOutServices {
  context: WorkerContext
  store: FencedStore
  emit: (event: NewEvent) => Promise<void>
  mask: (text: string) => string
}

/** What one execution does through the gateway. What is refused and what models use is told as events. */
export class WayOut {
  /** What was refused so far, one sentence each. */
  readonly refusals: string[] = []
  readonly #services: WayOutServices
  #egress: Egress | null = null

  constructor(services: WayOutServices) {
    this.#services = services
  }

  async open(
    { hosts, git, models }: Pick<WorkspacePlan, 'hosts' | 'git' | 'models'>,
    budget: Budget,
  ): Promise<Egress> {
    const { context, emit } = this.#services
    const rules = {
      ...{ hosts, private_hosts: context.settings.private_hosts },
      ...(git ? { git: git.rules } : {}),
      ...(models ? { models: { ...models.rules, tokens_left: budget.tokensLeft() } } : {}),
    }
    const onRefusal = (refusal: Refusal) => {
      this.refusals.push(refusal.message)
      emit({ type: 'egress.refused', data: refusal }).catch(() => {})
    }
    this.#egress = await context.gateway.open(rules, onRefusal, (used) => {
      const event: NewEvent = { type: 'usage', data: describeUsage(used) }
      budget.count([event])
      emit(event).catch(() => {})
    })
    return this.#egress
  }

  /** Pushes what was changed. Throws `SandboxFault`. */
  push(workspace: Workspace, request: PushRequest, signal: AbortSignal): Promise<PushOutcome> {
    if (!this.#egress) return Promise.reject(new Error('A repository can be pushed and there is no gateway.'))
    const services = { ...this.#services, egress: this.#egress, refusals: this.refusals, signal }
    return pushChanges(services, workspace, request)
  }

  /** What the commands of a turn used of models may still be under way, and belongs to it. */
  async settle({ models }: Pick<WorkspacePlan, 'models'>): Promise<void> {
    if (models) await this.#egress?.settle()
  }

  close(): void {
    this.#egress?.close()
  }
}

import type { NewEvent } from '../contract/event.ts'
import type { Egress, ModelCall, Refusal, ReservedWay } from '../gateway/gateway.ts'
import type { ModelCalls, ToolServer } from '../harness/harness.ts'
import type { PushOutcome, PushRequest, ToolServices } from '../harness/tool-services.ts'
import type { Budget } from './budget.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { describeUsage } from './model-access.ts'
import type { Workspace } from './prepare.ts'
import { createProxiedFetch } from './proxied-fetch.ts'
import { pushChanges } from './push-changes.ts'
import { ToldRefusals } from './told-refusals.ts'
import type { PlannedServer } from './tool-servers.ts'
import { createUsageSums, type UsageSums } from './usage-sums.ts'
import type { WorkspacePlan } from './workspace-plan.ts'

interface WayOutServices {
  context: WorkerContext
  store: FencedStore
  emit: (event: NewEvent) => Promise<void>
  mask: (text: string) => string
}

interface WayOptions {
  budget: Budget
  /** Its agent is in the sandbox: it looks for the same updates at each start, and not all can be told not to. */
  for_agent: boolean
  /** In place of a new one. */
  reserved?: ReservedWay | undefined
}

/** What one execution does through the gateway. What is refused and what models use is told as events. */
export class WayOut {
  readonly #refusals: string[] = []
  /** Absent: each attempt tells anew. */
  #told: ToldRefusals | undefined
  readonly #services: WayOutServices
  readonly #usage: UsageSums
  readonly #listeners = new Set<(call: ModelCall) => void>()
  #egress: Egress | null = null
  /** Those that the sandbox has no part in: of tool servers, and of pages that the agent asks for. */
  readonly #others = new Map<'tools' | 'pages', Promise<Egress>>()
  #closed = false

  constructor(services: WayOutServices) {
    this.#services = services
    this.#usage = createUsageSums((usages) => {
      for (const data of usages) services.emit({ type: 'usage', data }).catch(() => {})
    })
  }

  /** Opens the sandbox's own, in place of one that it had. */
  async open(
    { hosts, git, models }: Pick<WorkspacePlan, 'hosts' | 'git' | 'models'>,
    { budget, for_agent, reserved }: WayOptions,
  ): Promise<Egress> {
    const { context, store } = this.#services
    if (for_agent) this.#told ??= new ToldRefusals(store)
    const { model_silence_ms: silent_ms } = context.settings
    this.#egress?.close()
    const rules = {
      ...{ hosts, private_hosts: context.settings.private_hosts, run_id: store.lease.run_id },
      ...(git ? { git: git.rules } : {}),
      ...(models
        ? {
            models: {
              ...{ ...models.rules, tokens_left: budget.tokensLeft() },
              ...(silent_ms === undefined ? {} : { silent_ms }),
            },
          }
        : {}),
    }
    const way = reserved ?? context.gateway.reserve()
    this.#egress = await way.open(rules, (refusal) => this.#tellRefusal(refusal), {
      onUsed: (used) => {
        const data = { ...describeUsage(used), ...context.settings.costOf(used) }
        budget.count([{ type: 'usage', data }])
        this.#usage.add(data)
      },
      onCall: (call) => {
        for (const listener of this.#listeners) listener(call)
      },
    })
    const egress = this.#egress
    if (models) budget.onChange(() => egress.limit(budget.tokensLeft()))
    return egress
  }

  /** Of the sandbox's own way. */
  readonly calls: ModelCalls = {
    listen: (listener) => {
      this.#listeners.add(listener)
      return () => this.#listeners.delete(listener)
    },
    settle: async () => this.#egress?.settle(),
  }

  /** What was refused so far, one sentence each: what failed for it may be known before the gateway has told of it. */
  async readRefusals(): Promise<readonly string[]> {
    await this.#egress?.settle()
    return this.#refusals
  }

  /** Makes the addresses of tool servers ones that can be reached; `hosts` as in the plan. */
  reachServers(servers: readonly PlannedServer[], hosts: string[] | null): ToolServer[] {
    const openSocket = async () => (await this.#openOther('tools', hosts)).socket
    return servers.map(({ launch, ...server }) => {
      if (launch.type !== 'url') return { ...server, launch }
      const fetch = createProxiedFetch(openSocket, new URL(launch.url).origin)
      return { ...server, launch: { ...launch, fetch } }
    })
  }

  /** Asks for pages of the web, where the policy lets anything out; `hosts` as in the plan. */
  reachPages(hosts: string[] | null): Pick<ToolServices, 'fetchPage'> {
    if (hosts?.length === 0) return {}
    const openSocket = async () => (await this.#openOther('pages', hosts)).socket
    return {
      fetchPage: (url, init) => createProxiedFetch(openSocket, url.origin, 'shown')(url, init),
    }
  }

  /** Pushes what was changed. Throws `SandboxFault`. */
  push(workspace: Workspace, request: PushRequest, signal: AbortSignal): Promise<PushOutcome> {
    if (!this.#egress) return Promise.reject(new Error('A repository can be pushed and there is no gateway.'))
    const services = { ...this.#services, egress: this.#egress, refusals: () => this.readRefusals(), signal }
    return pushChanges(services, workspace, request)
  }

  /** What the commands of a turn used of models may still be under way, and belongs to it. */
  async settle({ models }: Pick<WorkspacePlan, 'models'>): Promise<void> {
    if (!models) return
    await this.#egress?.settle()
    this.#usage.flush()
  }

  close(): void {
    this.#closed = true
    this.#egress?.close()
    for (const other of this.#others.values()) other.then((egress) => egress.close()).catch(() => {})
    this.#usage.flush()
  }

  #openOther(kind: 'tools' | 'pages', hosts: string[] | null): Promise<Egress> {
    if (this.#closed) return Promise.reject(new Error('The run is over.'))
    const known = this.#others.get(kind)
    if (known) return known
    const { context, store } = this.#services
    const { private_hosts } = context.settings
    const { run_id } = store.lease
    const opened = context.gateway.open({ hosts, private_hosts, run_id }, (refusal) =>
      this.#tellRefusal(refusal),
    )
    this.#others.set(kind, opened)
    opened.catch(() => this.#others.delete(kind))
    return opened
  }

  #tellRefusal(refusal: Refusal): void {
    this.#refusals.push(refusal.message)
    this.#tell(refusal).catch(() => {})
  }

  async #tell(refusal: Refusal): Promise<void> {
    if (this.#told && !(await this.#told.isNew(refusal))) return
    await this.#services.emit({ type: 'egress.refused', data: refusal })
  }
}

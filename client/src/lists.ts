import { PageList } from './page-list.ts'
import type {
  AgentIdentity,
  ApiKey,
  AuditEntry,
  Conversation,
  ConversationMessage,
  ConversationStep,
  Environment,
  ListAgentIdentitiesResponse,
  ListApiKeysResponse,
  ListAuditLogResponse,
  ListDeliveriesResponse,
  ListEnvironmentsResponse,
  ListFiringsResponse,
  ListPoolsResponse,
  ListPrincipalsResponse,
  ListRunsResponse,
  ListSchedulesResponse,
  ListSecretsResponse,
  ListShareLinksResponse,
  ListTriggerDeliveriesResponse,
  ListTriggersResponse,
  ListWebhooksResponse,
  ListWorkspaceFilesResponse,
  Pool,
  Principal,
  RunItem,
  ScheduledAgentItem,
  ScheduleFiring,
  Secret,
  ShareLink,
  Trigger,
  TriggerDelivery,
  Webhook,
  WebhookDelivery,
  WorkspaceFileItem,
} from './schemas.ts'

/** Runs. */
export class RunList extends PageList<ListRunsResponse, RunItem> {
  async *[Symbol.asyncIterator](): AsyncGenerator<RunItem, void, undefined> {
    for await (const page of this.pages()) yield* page.runs
  }
}

/** Environments. */
export class EnvironmentList extends PageList<ListEnvironmentsResponse, Environment> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Environment, void, undefined> {
    for await (const page of this.pages()) yield* page.environments
  }
}

/** Schedules. */
export class ScheduleList extends PageList<ListSchedulesResponse, ScheduledAgentItem> {
  async *[Symbol.asyncIterator](): AsyncGenerator<ScheduledAgentItem, void, undefined> {
    for await (const page of this.pages()) yield* page.schedules
  }
}

/** What a schedule did. */
export class FiringList extends PageList<ListFiringsResponse, ScheduleFiring> {
  async *[Symbol.asyncIterator](): AsyncGenerator<ScheduleFiring, void, undefined> {
    for await (const page of this.pages()) yield* page.firings
  }
}

/** Secrets. */
export class SecretList extends PageList<ListSecretsResponse, Secret> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Secret, void, undefined> {
    for await (const page of this.pages()) yield* page.secrets
  }
}

/** API keys. */
export class ApiKeyList extends PageList<ListApiKeysResponse, ApiKey> {
  async *[Symbol.asyncIterator](): AsyncGenerator<ApiKey, void, undefined> {
    for await (const page of this.pages()) yield* page.api_keys
  }
}

/** Identities. */
export class IdentityList extends PageList<ListAgentIdentitiesResponse, AgentIdentity> {
  async *[Symbol.asyncIterator](): AsyncGenerator<AgentIdentity, void, undefined> {
    for await (const page of this.pages()) yield* page.agents
  }
}

/** People. */
export class PrincipalList extends PageList<ListPrincipalsResponse, Principal> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Principal, void, undefined> {
    for await (const page of this.pages()) yield* page.principals
  }
}

/** Entries of the audit log. */
export class AuditList extends PageList<ListAuditLogResponse, AuditEntry> {
  async *[Symbol.asyncIterator](): AsyncGenerator<AuditEntry, void, undefined> {
    for await (const page of this.pages()) yield* page.entries
  }
}

/** The steps of a conversation, each whole: one that is longer than a page goes on in the next, under the same `id`. */
export class ConversationPages extends PageList<Conversation, ConversationStep> {
  async *[Symbol.asyncIterator](): AsyncGenerator<ConversationStep, void, undefined> {
    let open: ConversationStep | undefined
    for await (const page of this.pages()) {
      for (const step of page.steps) {
        if (open && open.id === step.id) open = joinSteps(open, step)
        else {
          if (open) yield open
          open = step
        }
      }
    }
    if (open) yield open
  }
}

function joinSteps(step: ConversationStep, rest: ConversationStep): ConversationStep {
  const completed_at = [step.completed_at ?? '', rest.completed_at ?? ''].sort()[1]
  return {
    ...{ ...rest, ...step, ...(completed_at && { completed_at }) },
    messages: joinMessages(step.messages, rest.messages),
    steps: [...step.steps, ...rest.steps],
  }
}

/** Within a step no two messages in a row are of the same role and run: these are one, cut by the page's end. */
function joinMessages(messages: ConversationMessage[], rest: ConversationMessage[]): ConversationMessage[] {
  const [last, first] = [messages.at(-1), rest[0]]
  if (!last || !first || last.role !== first.role || last.run_id !== first.run_id)
    return [...messages, ...rest]
  const content = [...last.content, ...first.content]
  const joined = { ...last, content, message_ids: [...last.message_ids, ...first.message_ids] }
  return [...messages.slice(0, -1), joined, ...rest.slice(1)]
}

/** Webhooks. */
export class WebhookList extends PageList<ListWebhooksResponse, Webhook> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Webhook, void, undefined> {
    for await (const page of this.pages()) yield* page.webhooks
  }
}

/** Pools of workers. */
export class PoolList extends PageList<ListPoolsResponse, Pool> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Pool, void, undefined> {
    for await (const page of this.pages()) yield* page.pools
  }
}

/** What was sent to a webhook. */
export class WebhookDeliveryList extends PageList<ListDeliveriesResponse, WebhookDelivery> {
  async *[Symbol.asyncIterator](): AsyncGenerator<WebhookDelivery, void, undefined> {
    for await (const page of this.pages()) yield* page.deliveries
  }
}

/** Triggers. */
export class TriggerList extends PageList<ListTriggersResponse, Trigger> {
  async *[Symbol.asyncIterator](): AsyncGenerator<Trigger, void, undefined> {
    for await (const page of this.pages()) yield* page.triggers
  }
}

/** What came to a trigger. */
export class TriggerDeliveryList extends PageList<ListTriggerDeliveriesResponse, TriggerDelivery> {
  async *[Symbol.asyncIterator](): AsyncGenerator<TriggerDelivery, void, undefined> {
    for await (const page of this.pages()) yield* page.deliveries
  }
}

/** Links to a run. */
export class ShareLinkList extends PageList<ListShareLinksResponse, ShareLink> {
  async *[Symbol.asyncIterator](): AsyncGenerator<ShareLink, void, undefined> {
    for await (const page of this.pages()) yield* page.share_links
  }
}

/** Files of a run's workspace. */
export class WorkspaceFileList extends PageList<ListWorkspaceFilesResponse, WorkspaceFileItem> {
  async *[Symbol.asyncIterator](): AsyncGenerator<WorkspaceFileItem, void, undefined> {
    for await (const page of this.pages()) yield* page.files
  }
}

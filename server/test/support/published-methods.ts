/**
 * Every method of the published clients of the wire format and how the service answers it. A method that a newer version of a
 * package adds fails `published-clients.test.ts` until it has a line here.
 */

/**
 * `served`: the answer is strictly what the client types, and right; else the status and the code of the refusal.
 */
export type Decision = 'served' | '404 feature_not_available'

const all = (decision: Decision, ...names: string[]): Record<string, Decision> =>
  Object.fromEntries(names.map((name) => [name, decision]))

/** The methods that both generations of the Python client have. */
const SHARED = all(
  'served',
  'agent.run',
  'agent.list',
  'agent.get_artifact',
  'agent.list_environments',
  'agent.runs.list',
  'agent.runs.retrieve',
  'agent.runs.cancel',
  'agent.runs.submit_followup',
  'agent.runs.list_handoff_attachments',
  'agent.sessions.check_redirect',
  'agent.conversations.check_redirect',
  'agent.agent.create',
  'agent.agent.get',
  'agent.agent.list',
  'agent.agent.update',
  'agent.agent.delete',
  'agent.schedules.create',
  'agent.schedules.retrieve',
  'agent.schedules.update',
  'agent.schedules.list',
  'agent.schedules.pause',
  'agent.schedules.resume',
  'agent.schedules.delete',
)

export const PYTHON_CLIENTS: Record<string, { class_name: string; methods: Record<string, Decision> }> = {
  /** 0.15.0 */
  oz_agent_sdk: { class_name: 'OzAPI', methods: SHARED },
  /** 1.0.0 */
  warp_platform_sdk: {
    class_name: 'WarpClient',
    methods: {
      ...SHARED,
      ...all('served', 'agent.download_artifact'),
      ...all('served', 'agent.get_run_by_external_reference'),
      ...all('served', 'agent.list_models'),
      ...all('served', 'agent.runs.interrupt'),
      ...all('served', 'agent.runs.get_transcript'),
      ...all('served', 'agent.runs.get_conversation'),
      ...all('served', 'agent.runs.get_harness_usage'),
      ...all('served', 'agent.runs.get_timeline'),
      ...all('served', 'agent.conversations.retrieve'),
      ...all('served', 'agent.conversations.download_screenshot'),
      ...all('served', 'agent.conversations.get_transcript'),
      ...all('served', 'agent.conversations.interrupt'),
      ...all('served', 'agent.conversations.submit_followup'),
      ...all('served', 'networking.get_egress_ranges'),
      // Standing teams of agents.
      ...all(
        '404 feature_not_available',
        'factories.get',
        'factories.list',
        'factories.runs.create',
        'factories.files.validate',
        'factories.files.schemas.list',
        'factories.files.schemas.retrieve',
        'factories.files.schemas.get_document',
        'factories.tasks.create',
        'factories.tasks.get',
        'factories.tasks.get_by_conversation',
        'factories.tasks.get_by_run',
        'factories.tasks.list',
        'factories.tasks.update',
        'factories.tasks.cancel',
        'factories.tasks.delete',
      ),
    },
  },
}

/** Of `oz-agent-sdk` on npm, 1.0.0-alpha.8. */
export const NPM_METHODS = all(
  'served',
  'agent.run',
  'agent.list',
  'agent.runs.list',
  'agent.runs.retrieve',
  'agent.runs.cancel',
  'agent.schedules.create',
  'agent.schedules.retrieve',
  'agent.schedules.update',
  'agent.schedules.list',
  'agent.schedules.pause',
  'agent.schedules.resume',
  'agent.schedules.delete',
)

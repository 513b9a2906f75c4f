/** What each operation does, as one would say that somebody wants to do it. */
const DEEDS: Record<string, string> = {
  createRun: 'start a run',
  runAgent: 'start a run',
  listRuns: 'list runs',
  getRun: 'read a run',
  submitFollowup: 'send a run a message',
  cancelRun: 'cancel a run',
  interruptRun: 'interrupt a run',
  answerApproval: 'answer what an agent asked to be allowed',
  listEvents: 'read the events of a run',
  streamEvents: 'follow runs',
  getRunConversation: 'read the conversation of a run',
  getConversation: 'read a conversation',
  checkConversationRedirect: 'look up a conversation',
  checkSessionRedirect: 'look up a session',
  getRunDiff: 'read the changes of a run',
  getTranscript: 'download a transcript',
  listHandoffAttachments: 'list what a run hands on',
  getArtifact: 'download an artifact',
  listSkills: 'list skills',
  listModels: 'list models',
  getUsage: 'read the usage',
  createShareLink: 'make a share link of a run',
  listShareLinks: 'list the share links of a run',
  revokeShareLink: 'revoke a share link',
  createApiKey: 'make an API key',
  listApiKeys: 'list API keys',
  rotateApiKey: 'rotate an API key',
  revokeApiKey: 'revoke an API key',
  listPrincipals: 'list people',
  disablePrincipal: 'disable a person',
  enablePrincipal: 'enable a person',
  createSignInLink: 'make a sign-in link',
  createAgentIdentity: 'make an identity',
  listAgentIdentities: 'list identities',
  getAgentIdentity: 'read an identity',
  updateAgentIdentity: 'change an identity',
  deleteAgentIdentity: 'delete an identity',
  getGrants: 'read who may use something',
  putGrants: 'change who may use something',
  listPools: 'list pools of workers',
  listAuditLog: 'read the audit log',
  listEnvironments: 'list environments',
  createEnvironment: 'make an environment',
  getEnvironment: 'read an environment',
  updateEnvironment: 'change an environment',
  deleteEnvironment: 'delete an environment',
  listSecrets: 'list secrets',
  putSecret: 'set a secret',
  getSecret: 'read about a secret',
  deleteSecret: 'delete a secret',
  useSecrets: 'give secrets to a run',
  listSchedules: 'list schedules',
  createSchedule: 'make a schedule',
  getSchedule: 'read a schedule',
  updateSchedule: 'change a schedule',
  deleteSchedule: 'delete a schedule',
  pauseSchedule: 'pause a schedule',
  resumeSchedule: 'resume a schedule',
  listFirings: 'read the history of a schedule',
  createTrigger: 'make a trigger',
  listTriggers: 'list triggers',
  getTrigger: 'read a trigger',
  updateTrigger: 'change a trigger',
  deleteTrigger: 'delete a trigger',
  pauseTrigger: 'pause a trigger',
  resumeTrigger: 'resume a trigger',
  listTriggerDeliveries: 'read the history of a trigger',
  replayTriggerDelivery: 'replay a delivery of a trigger',
  createWebhook: 'make a webhook',
  listWebhooks: 'list webhooks',
  getWebhook: 'read a webhook',
  updateWebhook: 'change a webhook',
  deleteWebhook: 'delete a webhook',
  rotateWebhookSecret: 'rotate the secret of a webhook',
  listWebhookDeliveries: 'read the deliveries of a webhook',
  redeliverWebhook: 'send a delivery of a webhook again',
  'GET /web/session': 'look who is signed in',
  'POST /web/session': 'sign in to the page',
  'DELETE /web/session': 'sign out of the page',
  'POST /web/visits': 'open a run by a link',
}

/** The verbs above that do not only take on `d` or `ed`. */
const PAST: Record<string, string> = {
  send: 'sent',
  cancel: 'cancelled',
  read: 'read',
  make: 'made',
  set: 'set',
  give: 'gave',
  sign: 'signed',
}

/** What was done, or tried where it was refused; undefined of an operation that this page does not know. */
export function sayDeed(action: string, was_refused: boolean): string | undefined {
  const deed = DEEDS[action]
  if (deed === undefined) return undefined
  if (was_refused) return `Tried to ${deed}`
  const [verb = '', ...rest] = deed.split(' ')
  const past = PAST[verb] ?? (verb.endsWith('e') ? `${verb}d` : `${verb}ed`)
  return [past.charAt(0).toUpperCase() + past.slice(1), ...rest].join(' ')
}

/** The operations that change something, with what they do: what is looked for. */
export const SOUGHT = Object.entries(DEEDS).filter(
  ([, deed]) => !/^(list|read|look|follow|download) /.test(deed),
)

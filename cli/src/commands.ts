import type { Command } from 'commander'

/** Commands of one module, by the words that they are called by. */
interface Module {
  words: readonly string[]
  load: () => Promise<(program: Command) => void>
}

/** As help lists them. `complete`, which needs all commands, is not among the words. */
const GROUPS: Record<string, readonly Module[]> = {
  'Runs:': [
    { words: ['run'], load: async () => (await import('./commands/run.ts')).addRunCommand },
    { words: ['fork'], load: async () => (await import('./commands/fork.ts')).addForkCommand },
    { words: ['list', 'ls'], load: async () => (await import('./commands/list.ts')).addListCommand },
    {
      words: ['get', 'follow', 'message', 'approve', 'cancel', 'interrupt'],
      load: async () => (await import('./commands/runs.ts')).addRunsCommands,
    },
    { words: ['wait'], load: async () => (await import('./commands/wait.ts')).addWaitCommand },
    { words: ['logs'], load: async () => (await import('./commands/logs.ts')).addLogsCommand },
    {
      words: ['conversation', 'transcript'],
      load: async () => (await import('./commands/conversations.ts')).addConversationCommands,
    },
    { words: ['timeline'], load: async () => (await import('./commands/timeline.ts')).addTimelineCommand },
    {
      words: ['diff', 'apply'],
      load: async () => (await import('./commands/changes.ts')).addChangeCommands,
    },
    { words: ['files'], load: async () => (await import('./commands/files.ts')).addFilesCommand },
    {
      words: ['pr', 'merge'],
      load: async () => (await import('./commands/pull-requests.ts')).addPullRequestCommands,
    },
    {
      words: ['rename', 'archive', 'unarchive', 'delete'],
      load: async () => (await import('./commands/delete.ts')).addDeleteCommands,
    },
    { words: ['open'], load: async () => (await import('./commands/open.ts')).addOpenCommand },
    { words: ['share'], load: async () => (await import('./commands/share.ts')).addShareCommand },
    { words: ['queue'], load: async () => (await import('./commands/workers.ts')).addQueueCommand },
    { words: ['usage'], load: async () => (await import('./commands/usage.ts')).addUsageCommand },
    {
      words: ['schedule'],
      load: async () => (await import('./commands/schedules.ts')).addScheduleCommands,
    },
    { words: ['trigger'], load: async () => (await import('./commands/triggers.ts')).addTriggerCommands },
  ],
  'What runs use and make:': [
    { words: ['init'], load: async () => (await import('./commands/init.ts')).addInitCommand },
    { words: ['env'], load: async () => (await import('./commands/environments.ts')).addEnvironmentCommands },
    { words: ['secret'], load: async () => (await import('./commands/secrets.ts')).addSecretCommands },
    { words: ['webhook'], load: async () => (await import('./commands/webhooks.ts')).addWebhookCommands },
    {
      words: ['skill', 'skills'],
      load: async () => (await import('./commands/skills.ts')).addSkillCommands,
    },
    { words: ['repo'], load: async () => (await import('./commands/repositories.ts')).addRepositoryCommands },
    { words: ['model'], load: async () => (await import('./commands/models.ts')).addModelCommands },
    {
      words: ['workspace', 'artifacts'],
      load: async () => (await import('./commands/artifacts.ts')).addArtifactCommands,
    },
  ],
  'Who may do what:': [
    {
      words: ['identity', 'identities'],
      load: async () => (await import('./commands/identities.ts')).addIdentityCommands,
    },
    {
      words: ['principal', 'principals'],
      load: async () => (await import('./commands/principals.ts')).addPrincipalCommands,
    },
    { words: ['pool', 'pools'], load: async () => (await import('./commands/pools.ts')).addPoolCommands },
    { words: ['grant', 'grants'], load: async () => (await import('./commands/grants.ts')).addGrantCommands },
    { words: ['audit'], load: async () => (await import('./commands/audit.ts')).addAuditCommand },
  ],
  'Server:': [
    { words: ['dev'], load: async () => (await import('./commands/dev.ts')).addDevCommand },
    {
      words: ['serve', 'worker', 'migrate'],
      load: async () => (await import('./commands/service.ts')).addServiceCommands,
    },
    {
      words: ['login', 'logout', 'whoami', 'profile'],
      load: async () => (await import('./commands/login.ts')).addLoginCommands,
    },
    { words: ['status'], load: async () => (await import('./commands/status.ts')).addStatusCommand },
    { words: ['workers'], load: async () => (await import('./commands/workers.ts')).addWorkersCommands },
    { words: ['settings'], load: async () => (await import('./commands/settings.ts')).addSettingsCommand },
    { words: ['doctor'], load: async () => (await import('./commands/doctor.ts')).addDoctorCommand },
    { words: ['agents'], load: async () => (await import('./commands/agents.ts')).addAgentCommands },
    { words: ['keys'], load: async () => (await import('./commands/keys.ts')).addKeyCommands },
    {
      words: ['completion'],
      load: async () => (await import('./commands/completion.ts')).addCompletionCommands,
    },
  ],
}

/**
 * Adds the commands of the module that this word calls, since loading all takes a third of the time of a short command; all of
 * them where no module has it, as for help.
 */
export async function addCommands(program: Command, word: string | undefined): Promise<void> {
  const isCalled = ({ words }: Module): boolean => word !== undefined && words.includes(word)
  const is_known = Object.values(GROUPS).flat().some(isCalled)
  for (const [heading, modules] of Object.entries(GROUPS)) {
    program.commandsGroup(heading)
    const needed = is_known ? modules.filter(isCalled) : modules
    for (const add of await Promise.all(needed.map(({ load }) => load()))) add(program)
  }
}

/** Every word that has a module of its own to load. */
export const WORDS: readonly string[] = Object.values(GROUPS)
  .flat()
  .flatMap(({ words }) => words)

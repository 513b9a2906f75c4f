import type { RunSkills } from './run-skills.ts'

/** Half-made repositories are not read for what they say to agents. */
export const NO_SKILLS: RunSkills = {
  attached_skills: [],
  skills: { list: [], read: async () => ({ refusal: 'A debug turn has no skills.' }) },
  guides: [],
  found: { skills: [], malformed: [] },
}

/** What the agent is told first. */
export const noteFailedSetup = (why: string | undefined): string =>
  `The environment of this run could not be set up, so the run failed and its task was not begun: ${why ?? 'the log says why'} \
You are in its sandbox, as the failed setup left it. Do not begin with the task. Answer the messages that came after it, which are \
about what went wrong.`

import { pinImage } from '../contract/image.ts'
import type { ResolvedRun } from '../contract/run.ts'
import type { Harness } from '../harness/harness.ts'
import type { Workspace } from './prepare.ts'
import type { RunSkills } from './run-skills.ts'

/** What a run is executed with, by all that was found out before its start. */
export const resolvedOf = (
  { image, commits, sandbox }: Workspace,
  skills: RunSkills,
  harness: Harness,
  model_id: string | undefined,
): ResolvedRun => ({
  harness: harness.traits.name,
  ...(model_id !== undefined && { model_id }),
  ...(image && { image: sandbox.image_digest ? pinImage(image, sandbox.image_digest) : image }),
  ...(Object.keys(commits).length > 0 && { commits }),
  ...(skills.resolved && { skill: skills.resolved }),
})

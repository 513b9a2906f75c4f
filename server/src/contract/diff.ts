import { z } from 'zod'
import { ArtifactResponse } from './artifact.ts'

export const ChangedFile = z
  .object({
    path: z.string().meta({
      description: 'In the repository; with several repositories, the folder of the file’s comes first.',
    }),
    previous_path: z.string().optional().meta({ description: 'What a renamed file was called.' }),
    status: z.enum(['added', 'modified', 'deleted', 'renamed']),
    additions: z.int().meta({ description: 'Lines; 0 for binary files.' }),
    deletions: z.int(),
    binary: z.literal(true).optional(),
    omitted: z.literal(true).optional().meta({ description: 'The patch does not hold it; `notes` say why.' }),
  })
  .meta({ id: 'ChangedFile' })
export type ChangedFile = z.infer<typeof ChangedFile>

const ComparedRepository = z
  .object({
    directory: z.string().meta({ description: 'Folder below /workspace.' }),
    base_commit: z
      .string()
      .nullable()
      .meta({ description: 'What it was cloned at; null: it had no commit.' }),
  })
  .meta({ id: 'ComparedRepository' })
export type ComparedRepository = z.infer<typeof ComparedRepository>

/** What a comparison found. */
export const Changes = z.object({
  repositories: z.array(ComparedRepository),
  files: z.array(ChangedFile).meta({ description: 'At most 1,000; the counts are of all.' }),
  files_changed: z.int(),
  additions: z.int(),
  deletions: z.int(),
  notes: z.array(z.string()).meta({ description: 'What is missing, and why: sentences for people.' }),
})
export type Changes = z.infer<typeof Changes>

export const RunDiff = Changes.extend({
  run_id: z.string(),
  turn: z.int().meta({
    description:
      'Messages that the agent had been given by then, the prompt included. 0: nothing was kept, since no turn has changed anything.',
  }),
  patch: ArtifactResponse.optional().meta({
    description:
      'For `git apply --binary`; with several repositories paths begin with their folders. Absent where nothing was kept.',
  }),
}).meta({
  id: 'RunDiff',
  description: 'How the repositories of a run differ from the commits they were cloned at.',
})
export type RunDiff = z.infer<typeof RunDiff>

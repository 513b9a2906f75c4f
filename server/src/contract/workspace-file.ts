import { z } from 'zod'
import { PageInfo, paging } from './page-info.ts'
import { Timestamp } from './timestamp.ts'
import { wholeNumber } from './whole-number.ts'

/** Twice what a file system allows, since some bytes are written as `\xE9`. */
const MOST_CHARACTERS = 8_192

const WorkspacePath = z
  .string()
  .max(MOST_CHARACTERS)
  .refine((path) => !path.split('/').includes('..'), 'must not lead up: leave out ".."')
  .refine((path) => /^\/workspace(\/|$)|^(?!\/)/.test(path), 'must lie in /workspace: nothing else is kept')

const path = (what: string) =>
  WorkspacePath.meta({
    description: `${what}, below /workspace; \`/workspace/src\` is \`src\`. A byte that is not UTF-8 is written \`\\xE9\`.`,
  })

const turn = wholeNumber(1, 1_000_000).optional().meta({
  description: 'As this turn left them. Default: the last turn whose workspace is kept.',
})

export const ListWorkspaceFilesQuery = z.object({
  path: path('The folder')
    .optional()
    .meta({ description: 'The folder, below /workspace; default: /workspace itself.' }),
  turn,
  ...paging(200),
})

export const WorkspaceFileQuery = z.object({ path: path('The file'), turn })

/** The path below `/workspace` as the index has it: without empty parts and dots. */
export const cleanPath = (path: string): string =>
  path
    .replace(/^\/workspace(?=\/|$)/, '')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')

const about = {
  path: z.string().meta({ description: 'Below /workspace.' }),
  name: z.string(),
  type: z.enum(['file', 'folder', 'link', 'other']).meta({ description: '`other`: a pipe.' }),
  mode: z.string().meta({ description: 'Permissions in octal, such as `644`.' }),
  size_bytes: z.int().optional().meta({ description: 'Of a file.' }),
  target: z.string().optional().meta({
    description: 'Of a link: where it leads, as it says. Links are never followed.',
  }),
}

export const WorkspaceFileItem = z.object(about).meta({ id: 'WorkspaceFileItem' })
export type WorkspaceFileItem = z.infer<typeof WorkspaceFileItem>

const ofTurn = {
  run_id: z.string(),
  turn: z
    .int()
    .meta({ description: 'The turn that left it: messages that the agent had been given by then.' }),
}

export const ListWorkspaceFilesResponse = z
  .object({
    ...ofTurn,
    turns: z.array(z.int()).meta({ description: 'All turns whose files can be listed, in order.' }),
    path: about.path,
    files: z.array(WorkspaceFileItem).meta({ description: 'What lies directly in the folder, by name.' }),
    page_info: PageInfo,
  })
  .meta({ id: 'ListWorkspaceFilesResponse' })
export type ListWorkspaceFilesResponse = z.infer<typeof ListWorkspaceFilesResponse>

export const WorkspaceFileResponse = z
  .object({
    ...ofTurn,
    ...about,
    type: z.literal('file'),
    size_bytes: z.int(),
    download_url: z.string().meta({ description: 'Its bytes. Works without a key until `expires_at`.' }),
    expires_at: Timestamp,
  })
  .meta({ id: 'WorkspaceFileResponse' })
export type WorkspaceFileResponse = z.infer<typeof WorkspaceFileResponse>

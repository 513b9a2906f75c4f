import type { ChangedFile } from '@runyard/client'

export interface FileGroup {
  /** With a slash at its end; empty for files beside no folder. */
  folder: string
  files: ChangedFile[]
  additions: number
  deletions: number
}

/** The files by their folders, in the order of both; each folder once, whatever order the files come in. */
export function groupByFolder(files: readonly ChangedFile[]): FileGroup[] {
  const groups = new Map<string, FileGroup>()
  for (const file of files) {
    const folder = file.path.slice(0, file.path.lastIndexOf('/') + 1)
    const group = groups.get(folder) ?? { folder, files: [], additions: 0, deletions: 0 }
    group.files.push(file)
    group.additions += file.additions
    group.deletions += file.deletions
    groups.set(folder, group)
  }
  return [...groups.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1))
}

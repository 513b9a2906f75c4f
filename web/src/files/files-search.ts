/** What is shown of a run's files: which file or folder, as which turn left it. */
export interface FilesSearch {
  path?: string
  turn?: number
}

export function readFilesSearch({ path, turn }: Record<string, unknown>): FilesSearch {
  const text = typeof path === 'number' ? String(path) : path
  return {
    ...(typeof text === 'string' && text !== '' ? { path: text } : {}),
    ...(typeof turn === 'number' && Number.isInteger(turn) && turn > 0 ? { turn } : {}),
  }
}

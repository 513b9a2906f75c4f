/** The file or folder that is shown, and the turn that left it so. */
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

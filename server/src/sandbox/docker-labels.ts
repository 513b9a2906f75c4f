/** What tells ours from others' on an engine, and one sandbox from another. */
export const LABELS = {
  installation: 'runyard.installation',
  sandbox: 'runyard.sandbox',
  run_id: 'runyard.run_id',
  attempt: 'runyard.attempt',
  part: 'runyard.part',
  user: 'runyard.user',
  /** On volumes that hold files with the user's name, too. */
  named: 'runyard.named',
} as const

/** The part that is no sandbox's: a container in which an image is looked at. */
export const LOOK = 'look'

/** An image's own labels, emptied: tools beside the engine take orders from labels. */
export const emptied = (labels: readonly string[]): Record<string, string> =>
  Object.fromEntries(labels.map((name) => [name, '']))

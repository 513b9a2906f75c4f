/** What keeps a local repository from being read, and what its run says of it: our words, never git's or tar's. */
const MESSAGES = {
  'no commits': (name) => `The local repository ${name} has no commits at its HEAD.`,
  'not whole': (name) =>
    `The local repository ${name} cannot be read. It must be whole: not damaged, not shallow or partial, with all objects its own.`,
  'too large': (name) => `The local repository ${name} is larger than a workspace may be.`,
  'no room': (name) => `The local repository ${name} could not be copied: the worker's disk is full.`,
  'too long': (name) => `Reading the local repository ${name} took too long.`,
  'too hungry': (name) =>
    `Reading the local repository ${name} was stopped: it takes more memory than its environment allows.`,
  'no git': () =>
    'Local repositories cannot be read here: the operator must install git and tar (for Docker, in RUNYARD_DEFAULT_IMAGE).',
} satisfies Record<string, (name: string) => string>

export type ExportProblem = keyof typeof MESSAGES

export class ExportFailed extends Error {
  override name = 'ExportFailed'
  readonly problem: ExportProblem
  /** What git or tar said; for the service's log alone, since it may quote the repository. */
  readonly said: string

  constructor(problem: ExportProblem, said = '') {
    super(problem)
    this.problem = problem
    this.said = said
  }
}

export const describeProblem = (problem: ExportProblem, repository: string): string =>
  MESSAGES[problem](repository)

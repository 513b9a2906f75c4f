import { join } from 'node:path'
import type { BubblewrapPlaces } from './bubblewrap-command.ts'
import { FirstProcesses } from './first-processes.ts'

/** What one sandbox has on the host's disk. */
export class BubblewrapFiles {
  /** Its own; nobody inside sees it. */
  readonly directory: string
  readonly places: BubblewrapPlaces
  readonly first_processes: FirstProcesses
  /** While it is there the sandbox is frozen. Only where there is no control group, which knows that itself. */
  readonly frozen_file: string

  /** `common`: where the files are that all sandboxes share. */
  constructor(directory: string, common: string) {
    this.directory = directory
    this.places = {
      workspace: join(directory, 'workspace'),
      home: join(directory, 'home'),
      tmp: join(directory, 'tmp'),
      common,
    }
    this.first_processes = new FirstProcesses(join(directory, 'first-processes'))
    this.frozen_file = join(directory, 'frozen')
  }
}

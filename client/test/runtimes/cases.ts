import * as library from '@runyard/client'
import { loadTable, type Outcome, runBehaviour, type Setup } from '../behaviour.ts'

/** The table on the library as it is installed, wherever this runs. */
export async function runCases(setup: Pick<Setup, 'url' | 'runtime' | 'proxy'>): Promise<Outcome[]> {
  return runBehaviour({ ...setup, library, table: await loadTable(setup.url) })
}

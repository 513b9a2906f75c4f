import { after, before } from 'node:test'
import { Home } from '../runyard.ts'

const LIMIT = { timeout: 600_000 }

/** Where one service runs for all that `commands.test.ts` imports. */
export const home = new Home()
export let data_dir: string

before(async () => {
  data_dir = (await home.serve({ env: { RUNYARD_MIN_SCHEDULE_SECONDS: '1' } })).data_dir
}, LIMIT)
after(() => home.remove(), LIMIT)

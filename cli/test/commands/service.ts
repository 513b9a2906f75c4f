import { after, before } from 'node:test'
import { Home, printedBy } from '../runyard.ts'

const LIMIT = { timeout: 600_000 }

/** Where one service runs for all that `commands.test.ts` imports. */
export const home = new Home()

before(async () => {
  const dev = home.spawn(['dev', '--port', '0', '--json'], {
    environment: { RUNYARD_MIN_SCHEDULE_SECONDS: '1' },
  })
  await printedBy(dev, /\n/)
}, LIMIT)
after(() => home.remove(), LIMIT)

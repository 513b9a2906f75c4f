import type { OperationId } from '../routes.ts'
import { ACCESS_EXAMPLES } from './access-examples.ts'
import { ENVIRONMENT_EXAMPLES } from './environment-examples.ts'
import type { Example } from './example.ts'
import { RUN_EXAMPLES } from './run-examples.ts'
import { SCHEDULE_EXAMPLES } from './schedule-examples.ts'
import { WEBHOOK_EXAMPLES } from './webhook-examples.ts'

/** Of each operation; one without does not compile. */
export const EXAMPLES: Record<OperationId, Example> = {
  ...RUN_EXAMPLES,
  ...ENVIRONMENT_EXAMPLES,
  ...SCHEDULE_EXAMPLES,
  ...WEBHOOK_EXAMPLES,
  ...ACCESS_EXAMPLES,
}

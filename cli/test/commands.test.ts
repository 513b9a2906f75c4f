/** Commands that need no service of their own, against one: each start costs more than what one of these files asks of it. */
// First, while nobody else has made anything.
import './commands/access.ts'
import './commands/conversations.ts'
import './commands/delete.ts'
import './commands/schedules.ts'
import './commands/secrets.ts'
import './commands/triggers.ts'

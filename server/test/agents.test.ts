import { OPENCODE, testAgent } from './support/agent-journeys.ts'

testAgent(OPENCODE, 'bubblewrap')

import { INSTALLED, testAgent } from './support/agent-journeys.ts'

testAgent(INSTALLED, 'bubblewrap')

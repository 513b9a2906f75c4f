import { CLAUDE, OPENCODE, QWEN, testAgent } from './support/agent-journeys.ts'

testAgent(CLAUDE, 'bubblewrap')
testAgent(OPENCODE, 'bubblewrap')
testAgent(QWEN, 'bubblewrap')

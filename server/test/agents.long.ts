import { CLAUDE, OPENCODE, QWEN, testAgent } from './support/agent-journeys.ts'

testAgent(CLAUDE, 'bubblewrap', true)
testAgent(OPENCODE, 'bubblewrap', true)
testAgent(QWEN, 'bubblewrap', true)
testAgent(CLAUDE, 'docker', true)
testAgent(OPENCODE, 'docker')

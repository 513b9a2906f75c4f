import { CLAUDE, CODEX, GEMINI, GOOSE, OPENCODE, QWEN, testAgent } from './support/agent-journeys.ts'

testAgent(CLAUDE, 'bubblewrap', true)
testAgent(OPENCODE, 'bubblewrap', true)
testAgent(QWEN, 'bubblewrap', true)
testAgent(CODEX, 'bubblewrap', true)
testAgent(GEMINI, 'bubblewrap', true)
testAgent(GOOSE, 'bubblewrap', true)
testAgent(CLAUDE, 'docker', true)
testAgent(CODEX, 'docker')
testAgent(GEMINI, 'docker')
testAgent(GOOSE, 'docker')
testAgent(OPENCODE, 'docker')

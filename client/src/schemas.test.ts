import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import type * as library from './index.ts'

/** The names that all libraries for this wire format share: this file compiles while they are exported. */
interface Shared {
  RunAgentRequest: library.RunAgentRequest
  RunAgentResponse: library.RunAgentResponse
  ListRunsResponse: library.ListRunsResponse
  RunItem: library.RunItem
  PageInfo: library.PageInfo
  RunStatusMessage: library.RunStatusMessage
  RunCreatorInfo: library.RunCreatorInfo
  RunState: library.RunState
  RunSourceType: library.RunSourceType
  RunFollowupRequest: library.RunFollowupRequest
  AmbientAgentConfig: library.AmbientAgentConfig
  MCPServerConfig: library.MCPServerConfig
  Error: library.Error
}
const NAMES: Record<keyof Shared, true> = {
  RunAgentRequest: true,
  RunAgentResponse: true,
  ListRunsResponse: true,
  RunItem: true,
  PageInfo: true,
  RunStatusMessage: true,
  RunCreatorInfo: true,
  RunState: true,
  RunSourceType: true,
  RunFollowupRequest: true,
  AmbientAgentConfig: true,
  MCPServerConfig: true,
  Error: true,
}

test('the types have the names that the API gives them', () => {
  const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')
  const { schemas } = (JSON.parse(text) as { components: { schemas: object } }).components
  for (const name of Object.keys(NAMES)) assert(name in schemas, name)
})

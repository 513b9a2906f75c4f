/**
 * Our side of a scenario of `@modelcontextprotocol/conformance`: it starts this program with the address of its server, and
 * `MCP_CONFORMANCE_SCENARIO`. Every tool that the server has is called once, as the built-in agent would.
 */
import { openServers } from './odd-server.ts'
import { openTestSandbox } from './sandbox.ts'

const url = process.argv[2]
if (url === undefined) throw new Error('conformance-client URL')
const sandbox = await openTestSandbox()
try {
  await using servers = await openServers(sandbox, [
    { name: 'far', required: true, timeout_ms: 20_000, launch: { type: 'url', url, headers: {}, fetch } },
  ])
  for (const [name, { input_schema }] of servers.tools()) {
    const names = Object.keys(Object(input_schema.properties))
    const { output, is_error } = await servers.call(name, Object.fromEntries(names.map((each) => [each, 2])))
    if (is_error) throw new Error(`${name}: ${output}`)
  }
} finally {
  await sandbox.destroy()
}
process.exit(0)

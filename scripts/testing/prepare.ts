/** What tests need beside the sources: made once, before the first of them. What is missing is said, and its tests are skipped. */
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
} from '../../server/test/support/postgres-server.ts'
import { buildWeb } from '../build-web.ts'
import { bundleCommand } from '../bundle-command.ts'
import { installPythonTool } from '../install-python-tools.ts'
import { installTestTools } from '../install-test-tools.ts'

const PACKAGES = ['sandbox', 'postgres', 'docker', 'browser', 'python', 'lfs']
const NEEDS_TOOLS =
  /^client\/test\/|^cli\/test\/package\.|^server\/(test|src\/harness)\/.*(made-clients|mcp|tool-servers|trigger-payloads)/
const NEEDS_LONG_TOOLS = /^client\/test\/runtimes\.|^server\/test\/(agents\.long|cancel\.long|fix-a-test\.)/

/** `null` where no test of Node's is wanted, or PostgreSQL is not installed. */
export async function prepareTests(
  files: readonly string[],
  { long }: { long: boolean },
): Promise<PostgresServer | null> {
  if (long) process.env.RUNYARD_TEST_LONG = '1'
  // Hundreds of processes load the same files.
  process.env.NODE_COMPILE_CACHE ||= join(tmpdir(), 'runyard-test-compiled')
  if (spawnSync('scripts/setup-debian.sh', PACKAGES, { stdio: 'inherit' }).status !== 0)
    console.log('Some system packages are missing; the tests that need them are skipped and named below.')
  if (files.length === 0) return null
  // The service serves the page, whose sources may have changed since `npm install`.
  await buildWeb()
  // With `--long`, tests start the sources as they are.
  if (!long) process.env.RUNYARD_TEST_COMMAND = await bundleCommand()
  const tools = [
    ['tools', files.some((file) => NEEDS_TOOLS.test(file))],
    ['long-tools', long && files.some((file) => NEEDS_LONG_TOOLS.test(file))],
  ] as const
  for (const [name, is_needed] of tools)
    if (is_needed && !installTestTools(name))
      console.log(`test/${name} is not installed; the tests that need it are skipped and named below.`)
  for (const name of ['litellm', 'model-clients', 'openapi-python-client'] as const)
    if (files.includes(`server/test/${name}.long.ts`) && !installPythonTool(name))
      console.log(`${name} is missing; the tests that need it are skipped and named below.`)
  if (!findPostgres()) return null
  const postgres = await startPostgres()
  process.env.RUNYARD_TEST_POSTGRES = postgres.url
  return postgres
}

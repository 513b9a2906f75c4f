/** `deploy/compose` as docs/install.md says, with images that were made here. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '../../client/src/index.ts'
import { removeSandboxesBeside } from '../../server/test/support/docker-images.ts'
import { TEST_IMAGE } from '../../server/test/support/sandbox-backends.ts'
import { shell } from '../../server/test/support/service.ts'
import {
  buildImage,
  buildPostgresImage,
  buildS3Image,
  docker,
  IMAGE,
  POSTGRES_IMAGE,
  S3_IMAGE,
  whyNoImages,
} from './images.ts'
import { freePort, root, until } from './scene.ts'

const folder = join(root, 'deploy/compose')
const FILES = ['compose.yaml', 'compose.s3.yaml'].map((file) => ['--file', join(folder, file)])
const skip = whyNoCompose() || whyNoImages()

function whyNoCompose(): string | false {
  const { status } = spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' })
  return status === 0 ? false : "this machine cannot run it: Docker's compose plugin is not installed"
}

describe('compose', { skip, timeout: 1_800_000 }, () => {
  const project = `runyard-test-${process.pid}`
  const installed: string[] = []
  let environment: NodeJS.ProcessEnv
  let client: Runyard
  before(async () => {
    await buildImage()
    buildPostgresImage()
    const port = await freePort()
    environment = {
      ...process.env,
      RUNYARD_IMAGE: IMAGE,
      POSTGRES_IMAGE,
      S3_IMAGE,
      RUNYARD_SECRET_KEY: 'of the test of compose, and long enough',
      POSTGRES_PASSWORD: 'of/the#test',
      S3_SECRET_KEY: 'of the test',
      DOCKER_GID: String(statSync('/var/run/docker.sock').gid),
      RUNYARD_PUBLISH: `127.0.0.1:${port}`,
      RUNYARD_PUBLIC_URL: `http://127.0.0.1:${port}`,
      RUNYARD_DEFAULT_IMAGE: TEST_IMAGE,
    }
  })
  after(() => {
    for (const run_id of installed) removeSandboxesBeside(run_id)
    compose(FILES, 'down', '--volumes', '--timeout', '30')
  })

  const compose = (files: readonly string[][], ...args: string[]): string =>
    execFileSync('docker', ['compose', '--project-name', project, ...files.flat(), ...args], {
      cwd: folder,
      env: environment,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const [simple = []] = FILES

  async function leaveFile(text: string): Promise<string> {
    const run = await client.runs.createAndWait({
      prompt: shell(`echo ${text} > "$RUNYARD_ARTIFACTS_DIR/left.txt"`),
    })
    installed.push(run.run_id)
    const file = run.artifacts?.find((artifact) => artifact.artifact_type === 'FILE')
    assert(file, run.status_message?.message ?? run.state)
    return (await client.artifacts.download(file.data.artifact_uid)).text()
  }

  test('is as Docker wants it', () => {
    for (const files of [[simple], FILES]) compose(files, 'config', '--quiet')
  })

  test('starts with one command, and a run leaves a file that the API serves', async () => {
    compose([simple], 'up', '--detach', '--wait')
    const key = compose(
      [simple],
      'exec',
      '--no-TTY',
      'serve',
      ...'runyard keys create --name a --role admin --json'.split(' '),
    )
    const { api_key } = JSON.parse(key) as { api_key: string }
    client = new Runyard({ apiKey: api_key, baseURL: `${environment.RUNYARD_PUBLIC_URL}/api/v1` })
    assert.equal(await leaveFile('shared'), 'shared\n')
  })

  test('a worker that is replaced hands its run to the next', async () => {
    const { run_id } = await client.runs.create({ prompt: shell('sleep 20; echo whole') })
    installed.push(run_id)
    await until('it is at work', async () => (await client.runs.retrieve(run_id)).state === 'INPROGRESS')
    compose([simple], 'up', '--detach', '--force-recreate', '--no-deps', 'worker')
    const run = await client.runs.wait(run_id)
    assert.equal(run.state, 'SUCCEEDED')
  })

  test('with a store that speaks S3, files go there', async () => {
    await buildS3Image()
    compose(FILES, 'up', '--detach', '--wait')
    assert.equal(await leaveFile('in the bucket'), 'in the bucket\n')
    const found = docker([
      'run',
      '--rm',
      '--entrypoint',
      'find',
      '--volume',
      `${project}_files:/files:ro`,
      '--user',
      '0',
      IMAGE,
      '/files/runyard',
      '-type',
      'f',
    ])
    assert.match(found, /\/files\/runyard\/\S/)
  })
})

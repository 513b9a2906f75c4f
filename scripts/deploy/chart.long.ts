/** The packed chart on a real cluster: installed, upgraded while runs are at work, rolled back, removed. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Runyard } from '../../client/src/index.ts'
import { whyNoKubernetes } from '../../server/test/support/kubernetes-cluster.ts'
import { shell, temporaryDirectory } from '../../server/test/support/service.ts'
import { packChart } from '../pack-chart.ts'
import { findHelm, render, SAMPLES } from './helm.ts'
import { buildImage, buildPostgresImage, docker, IMAGE, POSTGRES_IMAGE, whyNoImages } from './images.ts'
import { root, until } from './scene.ts'

const found = findHelm(true)
const skip =
  'missing' in found
    ? found.missing
    : process.env.RUNYARD_TEST_KUBECONFIG
      ? 'it brings images to the node of a cluster of its own, and RUNYARD_TEST_KUBECONFIG names another'
      : whyNoImages() || whyNoKubernetes()

describe('the chart on a cluster', { skip, timeout: 2_400_000 }, () => {
  const { helm } = 'helm' in found ? found : { helm: '' }
  const namespace = `runyard-chart-${process.pid}`
  const sandboxes = `${namespace}-runyard-sandboxes`
  /** Where the cluster keeps its state. */
  const place = dirname(process.env.KUBECONFIG ?? '')
  const values = join(root, 'test/deploy/trial-values.yaml')
  let archive = ''
  let node = ''
  let client: Runyard

  const run = (program: string, args: readonly string[], input?: string): string =>
    execFileSync(program, args, {
      encoding: 'utf8',
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      maxBuffer: 64 * 1024 * 1024,
      ...(input === undefined ? {} : { input }),
    })
  const kubectl = (...args: string[]): string => run('kubectl', args)
  const apply = (...objects: object[]): string =>
    run(
      'kubectl',
      ['apply', '--filename', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
    )
  const release = (verb: string, ...args: string[]): string =>
    run(helm, [verb, 'runyard', ...args, '--namespace', namespace, '--wait', '--timeout', '5m'])
  const settings = (): string[] => [archive, '--values', values, '--set', `serve.allowedHosts={${node}}`]

  before(async () => {
    archive = await packChart(temporaryDirectory('chart'))
    await buildImage()
    buildPostgresImage()
    const images = join(temporaryDirectory('images'), 'images.tar')
    docker(['save', '--output', images, IMAGE, POSTGRES_IMAGE])
    run('ctr', [
      '--address',
      join(place, 'containerd.sock'),
      '--namespace',
      'k8s.io',
      'images',
      'import',
      images,
    ])
    node = kubectl(
      'get',
      'nodes',
      '--output',
      'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}',
    )
    const files = join(place, namespace)
    mkdirSync(files)
    chownSync(files, 10_001, 10_001)
    apply(
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        // Whatever the chart runs is as Pod Security wants it most.
        metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: namespace },
        spec: {
          ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteMany'], hostPath: { path: files } },
          claimRef: { namespace, name: 'runyard-files' },
        },
      },
    )
  })
  after(() => {
    kubectl('delete', 'namespace', namespace, sandboxes, '--ignore-not-found')
    kubectl('delete', 'persistentvolume', namespace, '--ignore-not-found')
  })

  const exec = (command: string): string =>
    kubectl('--namespace', namespace, 'exec', 'deployment/runyard', '--', ...command.split(' '))
  const start = (command: string) => client.runs.create({ prompt: shell(command) })
  const startSome = async (): Promise<string[]> => {
    const runs = await Promise.all([1, 2, 3].map((n) => start(`sleep 15; echo whole ${n}`)))
    const ids = runs.map(({ run_id }) => run_id)
    await until('a run is at work', async () =>
      (await Promise.all(ids.map((id) => client.runs.retrieve(id)))).some(
        ({ state }) => state === 'INPROGRESS',
      ),
    )
    return ids
  }
  const assertAllWell = async (ids: readonly string[]): Promise<void> => {
    const runs = await Promise.all(ids.map((id) => client.runs.wait(id, { maxReconnects: 100 })))
    assert.deepEqual(
      runs.map(({ state }) => state),
      ids.map(() => 'SUCCEEDED'),
    )
  }

  test('the API server takes each manifest, with all fields known', () => {
    for (const [name, sample] of Object.entries(SAMPLES)) {
      const place = {
        sandboxes: {
          ...(sample as { sandboxes?: object }).sandboxes,
          ...{ namespace: 'default', createNamespace: false },
        },
      }
      const manifests = render(helm, { ...sample, ...place }, '--namespace', namespace)
      const items = manifests.map((manifest) => ({
        ...manifest,
        metadata: { namespace, ...manifest.metadata },
      }))
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
      const said = run('kubectl', ['apply', '--dry-run=server', '--validate=strict', '--filename', '-'], list)
      assert.equal(said.trim().split('\n').length, items.length, `${name}: ${said}`)
    }
  })

  test('is installed, and a run has a Pod of its own', async () => {
    const notes = release('install', ...settings())
    assert.match(notes, /runyard keys create --name admin --role admin/)
    const { api_key } = JSON.parse(exec('runyard keys create --name admin --role admin --json')) as {
      api_key: string
    }
    const port = kubectl(
      '--namespace',
      namespace,
      'get',
      'service',
      'runyard',
      '--output',
      'jsonpath={.spec.ports[0].nodePort}',
    )
    client = new Runyard({ apiKey: api_key, baseURL: `http://${node}:${port}/api/v1` })
    const { run_id } = await start('echo left > "$RUNYARD_ARTIFACTS_DIR/left.txt"; sleep 5')
    await until(
      'its Pod runs',
      async () => kubectl('--namespace', sandboxes, 'get', 'pods', '--output', 'name') !== '',
    )
    const run = await client.runs.wait(run_id)
    assert.equal(run.state, 'SUCCEEDED')
    // The worker wrote it, on the volume.
    assert(run.artifacts?.some(({ artifact_type }) => artifact_type === 'FILE'))
    assert.match(exec('runyard --version'), /^\d/)
  })

  test('an upgrade while runs are at work loses none', async () => {
    const ids = await startSome()
    release(
      'upgrade',
      ...settings(),
      '--set',
      'worker.slots=5',
      '--set-string',
      'settings.RUNYARD_MAX_OPEN_RUNS=50',
    )
    await assertAllWell(ids)
    assert.match(exec('printenv RUNYARD_MAX_OPEN_RUNS'), /^50$/m)
    // The hook's, which ended well.
    assert.equal(kubectl('--namespace', namespace, 'get', 'jobs', '--output', 'name'), '')
  })

  test('an upgrade with a value that is not there replaces nothing', () => {
    const path = 'jsonpath={.items[*].metadata.generation}'
    const generations = (): string =>
      kubectl('--namespace', namespace, 'get', 'deployments', '--output', path)
    const before = generations()
    assert.throws(() => release('upgrade', ...settings(), '--set', 'worker.slot=5'), /slot/)
    assert.equal(generations(), before)
  })

  test('going back while runs are at work loses none', async () => {
    const ids = await startSome()
    release('rollback', '1')
    await assertAllWell(ids)
    assert.throws(() => exec('printenv RUNYARD_MAX_OPEN_RUNS'))
  })

  test('nothing is left of it', async () => {
    release('uninstall')
    const kinds =
      'all,secrets,configmaps,serviceaccounts,persistentvolumeclaims,networkpolicies,roles,rolebindings,poddisruptionbudgets,ingresses'
    await until('its objects are gone', async () => {
      const left = kubectl('--namespace', namespace, 'get', kinds, '--output', 'name')
        .split('\n')
        .filter(Boolean)
      // Each namespace has these two.
      return left.every((name) => /^configmap\/kube-root-ca\.crt$|^serviceaccount\/default$/.test(name))
    })
    await until(
      'the namespace of its runs is gone',
      async () => kubectl('get', 'namespace', sandboxes, '--ignore-not-found', '--output', 'name') === '',
    )
  })
})

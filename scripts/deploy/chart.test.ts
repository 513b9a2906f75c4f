/** The chart as Helm renders it; `npm run test:long` installs it. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { CHART, findHelm, type Manifest, render, SAMPLES } from './helm.ts'
import { root } from './scene.ts'

const found = findHelm()

describe('the chart', { skip: 'missing' in found ? found.missing : false }, () => {
  const { helm } = 'helm' in found ? found : { helm: '' }
  const whyNot = (values: object): string => {
    try {
      render(helm, values)
    } catch (error) {
      return (error as { stderr: string }).stderr
    }
    return assert.fail(JSON.stringify(values))
  }
  const named = (manifests: Manifest[], kind: string, name: string): Manifest =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name) ?? assert.fail(`${kind} ${name}`)

  test('lints and renders with each kind of values', () => {
    for (const [name, values] of Object.entries(SAMPLES)) {
      execFileSync(helm, ['lint', '--strict', '--quiet', CHART, '--values', '-'], {
        input: JSON.stringify(values),
      })
      const manifests = render(helm, values)
      const ids = manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace} ${metadata.name}`)
      assert(ids.length > 9 && new Set(ids).size === ids.length, `${name}: ${ids.join(', ')}`)
    }
  })

  test('refuses what it would misunderstand, in words', () => {
    const trial = SAMPLES.trial ?? {}
    assert.match(whyNot({}), /Say which PostgreSQL: database\.secretName .*database\.bundled\.enabled=true/)
    assert.match(whyNot({ ...trial, files: {} }), /Say where files are kept: files\.s3 .*files\.claim\.name/)
    assert.match(whyNot({ ...trial, replicas: 3 }), /replicas/)
    assert.match(whyNot({ ...trial, worker: { slot: 3 } }), /slot/)
    assert.match(whyNot({ ...trial, settings: { RUNYARD_SLOTS: '3' } }), /RUNYARD_SLOTS|settings/)
    assert.match(whyNot({ ...trial, settings: { RUNYARD_MAX_OPEN_RUNS: 20 } }), /RUNYARD_MAX_OPEN_RUNS/)
    assert.match(
      whyNot({ ...trial, metrics: { serviceMonitor: { enabled: true } } }),
      /serviceMonitor needs metrics\.secretName/,
    )
    const s3 = { s3: 's3://acme/runyard' }
    assert.match(whyNot({ ...trial, files: { ...s3, claim: { name: 'shared' } } }), /files\.claim, not both/)
    assert.match(
      whyNot({ files: s3, database: { secretName: 'runyard', bundled: { enabled: true } } }),
      /enabled=true, not both/,
    )
    assert.match(
      whyNot({ ...trial, worker: { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 2 } } }),
      /minReplicas \(3\) is more than maxReplicas \(2\)/,
    )
    assert.match(
      whyNot({ ...trial, sandboxes: { namespace: 'default' } }),
      /sandboxes\.namespace is the release's/,
    )
    for (const publicUrl of ['runs.example.com', 'ftp://runs.example.com', 'https://runs.example.com/'])
      assert.match(whyNot({ ...trial, publicUrl }), /publicUrl must be http:\/\/ or https:\/\//)
    const ingress = { serve: { ingress: { enabled: true } } }
    for (const publicUrl of ['http://localhost:4200', 'http://10.0.0.1', 'http://[::1]:4200'])
      assert.match(
        whyNot({ ...trial, ...ingress, publicUrl }),
        /ingress needs a publicUrl with the host name/,
      )
  })

  test('the sandboxes of each release have a namespace of their own, whatever its name', () => {
    const namespaceOf = (values: object, ...args: string[]): string =>
      render(helm, { ...SAMPLES.trial, ...values }, ...args).find(({ kind }) => kind === 'Namespace')
        ?.metadata.name ?? ''
    assert.equal(namespaceOf({}, '--namespace', 'team'), 'team-one-sandboxes')
    assert.equal(namespaceOf({}, '--namespace', 'one'), 'one-sandboxes')
    const long = namespaceOf({}, '--namespace', 'n'.repeat(63))
    assert(long.length <= 63 && long.endsWith('-sandboxes'), long)
    assert.equal(namespaceOf({ sandboxes: { namespace: '123' } }), '123')
  })

  test('names no variable twice, which a cluster refuses', () => {
    for (const values of Object.values(SAMPLES))
      for (const name of ['one-runyard', 'one-runyard-worker']) {
        const { spec } = named(render(helm, values), 'Deployment', name) as {
          spec: {
            template: { spec: { containers: Array<{ env: Array<{ name: string; value?: string }> }> } }
          }
        }
        const names = spec.template.spec.containers[0]?.env.map((variable) => variable.name) ?? []
        assert(names.includes('RUNYARD_SECRET_KEY'))
        assert.deepEqual(names, [...new Set(names)])
      }
  })

  test('the setting of a role counts more than that of all', () => {
    const text = JSON.stringify(named(render(helm, SAMPLES.production ?? {}), 'Deployment', 'one-runyard'))
    assert.match(text, /"RUNYARD_MAX_OPEN_RUNS","value":"10"/)
  })

  test('migrates beside the first start, and before an upgrade', () => {
    const values = SAMPLES.trial ?? {}
    const first = named(render(helm, values), 'Job', 'one-runyard-migrate')
    assert.equal(first.metadata.annotations, undefined)
    const next = named(render(helm, values, '--is-upgrade'), 'Job', 'one-runyard-migrate')
    assert.equal(next.metadata.annotations?.['helm.sh/hook'], 'pre-upgrade')
  })

  test('the example of the docs renders, and gives both who open its bucket the role', () => {
    const page = readFileSync(join(root, 'docs/install.md'), 'utf8')
    const [, example = ''] = /```yaml\n(publicUrl:[^`]+)```/.exec(page) ?? []
    const manifests = render(helm, parse(example) as object)
    for (const name of ['one-runyard', 'one-runyard-worker'])
      assert.match(
        named(manifests, 'ServiceAccount', name).metadata.annotations?.['eks.amazonaws.com/role-arn'] ?? '',
        /^arn:/,
        name,
      )
  })

  test('keeps the key of a database that outlives the release', () => {
    const keepsIt = (values: object): boolean => {
      const { metadata } = named(render(helm, values), 'Secret', 'one-runyard-secret-key')
      return metadata.annotations?.['helm.sh/resource-policy'] === 'keep'
    }
    assert.deepEqual([keepsIt(SAMPLES.bare ?? {}), keepsIt(SAMPLES.trial ?? {})], [true, false])
  })

  test('makes no new key where the one that it made has another name', async () => {
    // As much of a cluster as a look for the Secret asks for.
    const answers: Record<string, object> = {
      '/version': { major: '1', minor: '33', gitVersion: 'v1.33.0' },
      '/api': { kind: 'APIVersions', versions: ['v1'] },
      '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
      '/api/v1': {
        kind: 'APIResourceList',
        groupVersion: 'v1',
        resources: [{ name: 'secrets', singularName: '', namespaced: true, kind: 'Secret', verbs: ['get'] }],
      },
      '/api/v1/namespaces/default/secrets/one-runyard-secret-key': {
        ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one-runyard-secret-key' } },
        data: { RUNYARD_SECRET_KEY: 'b2xk' },
      },
    }
    const api = createServer((request, response) => {
      const answer = answers[request.url?.split('?')[0] ?? '']
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? { kind: 'Status', status: 'Failure', reason: 'NotFound' }))
    })
    await once(api.listen(0, '127.0.0.1'), 'listening')
    const { port } = api.address() as AddressInfo
    const said = async (entry: string): Promise<string> => {
      const set = `database.secretName=db,files.s3=s3://a,secretKey.secretEntry=${entry}`
      const cluster = [`--kube-apiserver=http://127.0.0.1:${port}`, '--dry-run=server']
      const args = ['template', 'one', CHART, '--set', set, ...cluster]
      // With the entry found it goes on, and then misses all else of a cluster.
      return promisify(execFile)(helm, args).then(
        () => assert.fail('rendered'),
        (error: { stderr: string }) => error.stderr,
      )
    }
    try {
      assert.match(await said('OTHER'), /Secret one-runyard-secret-key .*default has no entry OTHER/)
      assert.match(await said('RUNYARD_SECRET_KEY'), /unable to build kubernetes objects/)
    } finally {
      api.close()
      api.closeAllConnections()
    }
  })

  test('keeps replicas at a drain only where one can be spared', () => {
    const budgets = [
      [2, 1],
      [1, 1],
      [2, 2],
      [2, 0],
    ].map(([replicas, minAvailable]) => {
      const manifests = render(helm, { ...SAMPLES.trial, serve: { replicas, minAvailable } })
      return manifests.filter(({ kind }) => kind === 'PodDisruptionBudget').length
    })
    assert.deepEqual(budgets, [1, 0, 0, 0])
  })

  test('has a ServiceMonitor with the token, for who asks for one', () => {
    const metrics = {
      secretName: 'metrics',
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    }
    const { spec } = named(render(helm, { ...SAMPLES.trial, metrics }), 'ServiceMonitor', 'one-runyard')
    assert.match(JSON.stringify(spec), /"credentials":\{"name":"metrics","key":"RUNYARD_METRICS_TOKEN"\}/)
  })
})

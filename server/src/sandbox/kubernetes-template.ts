import { readFile } from 'node:fs/promises'
import { load } from 'js-yaml'
import { z } from 'zod'
import { SandboxFault } from './sandbox.ts'

const Labels = z.record(z.string().min(1), z.string())
/** Kubernetes checks what is in them. */
const Parts = z.array(z.record(z.string(), z.unknown()))

const MOUNTED = ['/workspace', '/home/agent', '/tmp', '/.runyard', '/etc', '/proc', '/sys', '/dev']

const Resources = z.strictObject({
  requests: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  limits: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .refine((limits) => !('memory' in limits) && !('cpu' in limits), {
      error: 'may not name memory or cpu: those are the run’s own limits',
    })
    .optional(),
})

const Mount = z
  .looseObject({ name: z.string(), mountPath: z.string() })
  .refine(({ mountPath }) => isFree(mountPath), {
    error:
      'lies in a folder that the sandbox has its own in: /workspace, /home/agent, /tmp, /etc, /proc, /sys or /dev',
  })

const Volume = z.looseObject({ name: z.string() }).refine((volume) => !('hostPath' in volume), {
  error: 'is a hostPath, which would open the node to the agent',
})

const Container = z.strictObject({
  name: z.literal('sandbox'),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
  resources: Resources.optional(),
  volumeMounts: z.array(Mount).optional(),
  env: Parts.optional(),
})

/** What an operator may say of every Pod. Anything else is refused: a field that is not merged would be ignored silently. */
export const PodTemplate = z.strictObject({
  apiVersion: z.literal('v1').optional(),
  kind: z.literal('Pod').optional(),
  metadata: z
    .strictObject({
      labels: Labels.refine(
        (labels) => Object.keys(labels).every((name) => !name.startsWith('runyard.dev/')),
        {
          error: 'may not begin with runyard.dev/, by which Pods are found again',
        },
      ).optional(),
      annotations: Labels.refine(
        (names) => Object.keys(names).every((name) => !name.startsWith('runyard.dev/')),
        {
          error: 'may not begin with runyard.dev/, by which Pods are found again',
        },
      ).optional(),
    })
    .optional(),
  spec: z
    .strictObject({
      nodeSelector: Labels.optional(),
      affinity: z.record(z.string(), z.unknown()).optional(),
      tolerations: Parts.optional(),
      topologySpreadConstraints: Parts.optional(),
      priorityClassName: z.string().optional(),
      schedulerName: z.string().optional(),
      runtimeClassName: z.string().optional(),
      hostUsers: z.literal(false, { error: 'can only be false: true is the default' }).optional(),
      serviceAccountName: z.string().optional(),
      imagePullSecrets: z.array(z.strictObject({ name: z.string() })).optional(),
      dnsPolicy: z.string().optional(),
      dnsConfig: z.record(z.string(), z.unknown()).optional(),
      securityContext: z
        .strictObject({
          runAsUser: z.int().min(1).optional(),
          runAsGroup: z.int().min(1).optional(),
          fsGroup: z.int().min(1).optional(),
          supplementalGroups: z.array(z.int().min(1)).optional(),
          seccompProfile: z
            .strictObject({ type: z.literal('Localhost'), localhostProfile: z.string() })
            .or(z.strictObject({ type: z.literal('RuntimeDefault') }))
            .optional(),
        })
        .optional(),
      volumes: z.array(Volume).optional(),
      containers: z.array(Container).max(1, 'has one container, named sandbox').optional(),
    })
    .optional(),
})

export type PodTemplate = z.infer<typeof PodTemplate>

/** Reads the file of the setting, YAML or JSON. Throws `SandboxFault` naming what is wrong in it. */
export async function readPodTemplate(file: string): Promise<PodTemplate> {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new SandboxFault(`RUNYARD_KUBERNETES_POD_TEMPLATE: ${file} cannot be read (${error.code})`)
  })
  return parsePodTemplate(text, file)
}

export function parsePodTemplate(text: string, file: string): PodTemplate {
  let value: unknown
  try {
    value = load(text)
  } catch (error) {
    throw new SandboxFault(
      `RUNYARD_KUBERNETES_POD_TEMPLATE: ${file} is neither YAML nor JSON: ${error instanceof Error ? error.message : error}`,
    )
  }
  const parsed = PodTemplate.safeParse(value ?? {})
  if (parsed.success) return parsed.data
  const mistakes = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the file'}: ${message}`,
  )
  throw new SandboxFault(`RUNYARD_KUBERNETES_POD_TEMPLATE: ${file}: ${mistakes.join('; ')}`)
}

const isFree = (path: string): boolean =>
  path.startsWith('/') &&
  path !== '/' &&
  !path.split('/').includes('..') &&
  !MOUNTED.some((folder) => path === folder || path.startsWith(`${folder}/`))

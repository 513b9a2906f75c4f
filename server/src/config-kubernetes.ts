import { z } from 'zod'
import { whole } from './setting.ts'

export const KUBERNETES_SETTINGS = {
  RUNYARD_KUBECONFIG: z.string().min(1).optional(),
  RUNYARD_KUBERNETES_NAMESPACE: z
    .string()
    .regex(
      /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
      'must be the name of a namespace, such as runyard-sandboxes',
    )
    .optional(),
  RUNYARD_KUBERNETES_POD_TEMPLATE: z.string().min(1).optional(),
  RUNYARD_KUBERNETES_START_SECONDS: whole(5, 3_600).optional(),
}

/** Where Pods of sandboxes are made, and what is said of each. */
export interface KubernetesSettings {
  kubeconfig?: string
  namespace?: string
  pod_template?: string
  start_limit_ms?: number
}

export function readKubernetes(
  env: z.infer<z.ZodObject<typeof KUBERNETES_SETTINGS>>,
  resolvePath: (path: string | undefined) => string | undefined,
): KubernetesSettings {
  const [kubeconfig, pod_template] = [
    resolvePath(env.RUNYARD_KUBECONFIG),
    resolvePath(env.RUNYARD_KUBERNETES_POD_TEMPLATE),
  ]
  const { RUNYARD_KUBERNETES_NAMESPACE: namespace, RUNYARD_KUBERNETES_START_SECONDS: seconds } = env
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(pod_template === undefined ? {} : { pod_template }),
    ...(seconds === undefined ? {} : { start_limit_ms: seconds * 1_000 }),
  }
}

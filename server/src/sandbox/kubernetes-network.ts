import { createHash } from 'node:crypto'
import { ifThere, type KubernetesApi, statusOf } from './kubernetes-api.ts'
import { MARKS } from './kubernetes-pod.ts'

const GROUP = 'apis/networking.k8s.io/v1'
/** Where clouds answer with credentials of the machine. */
const MACHINE_ADDRESSES = '169.254.0.0/16'

interface Policy {
  apiVersion: string
  kind: string
  metadata: { name: string; labels: Record<string, string>; annotations: Record<string, string> }
  spec: { ingress: object[]; egress: object[]; policyTypes: string[] }
}

/**
 * Makes the policies of the namespace that select this installation's sandboxes by their labels: nobody connects to one, one
 * with `none` connects to nobody, one with `open` to everything but the addresses of the machine itself. A policy that is
 * there and is another one is replaced. Throws `KubernetesError`.
 */
export async function requirePolicies(api: KubernetesApi, installation_id: string): Promise<void> {
  await Promise.all(
    (['none', 'open'] as const).map((egress) => requirePolicy(api, makePolicy(installation_id, egress))),
  )
}

async function requirePolicy(api: KubernetesApi, policy: Policy): Promise<void> {
  const { name } = policy.metadata
  const path = api.path('networkpolicies', GROUP)
  const there = await ifThere(api.call<Policy>(`${path}/${name}`))
  const version = 'runyard.dev/version'
  if (there?.metadata.annotations?.[version] === policy.metadata.annotations[version]) return
  if (there) await api.call(`${path}/${name}`, { method: 'PUT', body: policy })
  else
    await api.call(path, { method: 'POST', body: policy }).catch((error) => {
      // Another worker was quicker.
      if (statusOf(error) !== 409) throw error
    })
}

export function makePolicy(installation_id: string, egress: 'none' | 'open'): Policy {
  const spec = {
    podSelector: { matchLabels: { [MARKS.installation]: installation_id, [MARKS.egress]: egress } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [],
    egress:
      egress === 'none'
        ? []
        : [
            {
              to: [
                { ipBlock: { cidr: '0.0.0.0/0', except: [MACHINE_ADDRESSES] } },
                { ipBlock: { cidr: '::/0' } },
              ],
            },
          ],
  }
  const version = createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 16)
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: {
      name: `runyard-${tagOf(installation_id)}-${egress}`,
      labels: { 'app.kubernetes.io/managed-by': 'runyard', [MARKS.installation]: installation_id },
      annotations: { 'runyard.dev/version': version },
    },
    spec,
  }
}

/** Tells installations in one namespace apart in names. */
export const tagOf = (installation_id: string): string =>
  createHash('sha256').update(installation_id).digest('hex').slice(0, 12)

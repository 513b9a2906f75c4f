import { readClusterAccess } from './kubernetes-access.ts'
import { KubernetesApi, statusOf } from './kubernetes-api.ts'
import { explainRefusal } from './kubernetes-states.ts'
import { SandboxFault } from './sandbox.ts'

/** A verb that the service account needs, and what for. */
interface Right {
  verb: string
  resource: string
  subresource?: string
  group?: string
  says: string
}

const NETWORK = 'networking.k8s.io'

/** The whole Role; `docs/kubernetes.md` has it as YAML. */
export const RIGHTS: readonly Right[] = [
  { verb: 'get', resource: 'pods', says: 'see how a sandbox stands' },
  { verb: 'list', resource: 'pods', says: 'find the sandboxes of an earlier attempt' },
  { verb: 'create', resource: 'pods', says: 'make sandboxes' },
  { verb: 'patch', resource: 'pods', says: 'give a sandbox to the next attempt' },
  { verb: 'delete', resource: 'pods', says: 'remove sandboxes' },
  // Over WebSocket the request is a GET, and Kubernetes asks for both from version 1.36 on.
  { verb: 'get', resource: 'pods', subresource: 'exec', says: 'run commands' },
  { verb: 'create', resource: 'pods', subresource: 'exec', says: 'run commands' },
  { verb: 'get', resource: 'networkpolicies', group: NETWORK, says: 'close networks' },
  { verb: 'create', resource: 'networkpolicies', group: NETWORK, says: 'close networks' },
  { verb: 'update', resource: 'networkpolicies', group: NETWORK, says: 'close networks' },
]

/** The cluster's version and the rights that are missing, in sentences. Throws `SandboxFault` where nobody answers. */
export async function examineCluster(options: { kubeconfig?: string; namespace?: string }): Promise<{
  api: KubernetesApi
  version: string
  missing: string[]
}> {
  const access = await readClusterAccess(options.kubeconfig)
  const api = new KubernetesApi(access, options.namespace ?? access.namespace ?? 'default', 0)
  const version = await api.call<{ gitVersion: string }>('/version').catch((error) => {
    const why = error instanceof Error && statusOf(error) === 0 ? `: ${error.message}` : ''
    throw new SandboxFault(`${explainRefusal('tell its version', error).message}${why}`, { cause: error })
  })
  return { api, version: version.gitVersion, missing: await findMissingRights(api) }
}

/** What the credentials may not do in the namespace and must, a sentence each. */
export async function findMissingRights(api: KubernetesApi): Promise<string[]> {
  const asked = RIGHTS.map(async ({ verb, resource, subresource, group = '', says }) => {
    const attributes = {
      ...{ namespace: api.namespace, verb, group, resource },
      ...(subresource === undefined ? {} : { subresource }),
    }
    const { status } = await api.call<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      { method: 'POST', body: { spec: { resourceAttributes: attributes } } },
    )
    const noun = subresource === undefined ? resource : `${resource}/${subresource}`
    return status.allowed
      ? []
      : [`The Role in namespace ${api.namespace} lacks "${verb}" on ${noun}, needed to ${says}`]
  })
  return (await Promise.all(asked)).flat()
}

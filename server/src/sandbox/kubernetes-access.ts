import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { load } from 'js-yaml'
import { z } from 'zod'
import { SandboxFault } from './sandbox.ts'

/** Where Kubernetes puts a Pod's own credentials. */
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
/** A token of a service account is replaced on disk within its hour. */
const TOKEN_MS = 60_000
const PLUGIN_LIMIT_MS = 30_000

/** How a cluster's API is reached, and as whom. */
export interface ClusterAccess {
  server: URL
  tls: { ca?: string; cert?: string; key?: string; rejectUnauthorized?: false; servername?: string }
  /** The namespace that the credentials name; absent where they name none. */
  namespace?: string
  /** Headers by which this process says who it is; asked for again with each call, since tokens expire. */
  authorize: () => Promise<Record<string, string>>
  /** Names the cluster, whatever address it is reached at. */
  cluster: string
}

const Plugin = z.object({
  apiVersion: z.string().optional(),
  command: z.string(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
})

const Kubeconfig = z.object({
  'current-context': z.string().min(1),
  contexts: z.array(
    z.object({
      name: z.string(),
      context: z.object({
        cluster: z.string(),
        user: z.string().optional(),
        namespace: z.string().optional(),
      }),
    }),
  ),
  clusters: z.array(
    z.object({
      name: z.string(),
      cluster: z.object({
        server: z.url(),
        'certificate-authority': z.string().optional(),
        'certificate-authority-data': z.string().optional(),
        'insecure-skip-tls-verify': z.boolean().optional(),
        'tls-server-name': z.string().optional(),
      }),
    }),
  ),
  users: z
    .array(
      z.object({
        name: z.string(),
        user: z.object({
          token: z.string().optional(),
          tokenFile: z.string().optional(),
          username: z.string().optional(),
          password: z.string().optional(),
          'client-certificate': z.string().optional(),
          'client-certificate-data': z.string().optional(),
          'client-key': z.string().optional(),
          'client-key-data': z.string().optional(),
          exec: Plugin.optional(),
        }),
      }),
    )
    .nullish(),
})

type User = NonNullable<z.infer<typeof Kubeconfig>['users']>[number]['user']

/**
 * Reads the kubeconfig: `path`, else the first file `KUBECONFIG` names, else a Pod's own service account, else
 * `~/.kube/config`. Throws `SandboxFault` saying what is missing.
 */
export async function readClusterAccess(path?: string): Promise<ClusterAccess> {
  const named = path ?? process.env.KUBECONFIG?.split(delimiter).find((each) => each !== '')
  if (named === undefined && process.env.KUBERNETES_SERVICE_HOST) return readAccount()
  const file = resolve(named ?? join(homedir(), '.kube/config'))
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new SandboxFault(
      `The kubeconfig ${file} cannot be read (${error.code}). Set RUNYARD_KUBECONFIG, or run in a Pod with a service account`,
    )
  })
  const parsed = Kubeconfig.safeParse(parseYaml(text, file))
  if (!parsed.success)
    throw new SandboxFault(`The kubeconfig ${file} is not complete: ${z.prettifyError(parsed.error)}`)
  return fromKubeconfig(parsed.data, file)
}

async function fromKubeconfig(config: z.infer<typeof Kubeconfig>, file: string): Promise<ClusterAccess> {
  const current = config['current-context']
  const context = config.contexts.find(({ name }) => name === current)?.context
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster
  if (!context || !cluster)
    throw new SandboxFault(`The kubeconfig ${file} has no cluster for its context ${current}`)
  const user = config.users?.find(({ name }) => name === context.user)?.user ?? {}
  const read = async (data: string | undefined, path: string | undefined): Promise<string | undefined> => {
    if (data !== undefined) return Buffer.from(data, 'base64').toString()
    return path === undefined ? undefined : readFile(resolve(dirname(file), path), 'utf8')
  }
  const ca = await read(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const cert = await read(user['client-certificate-data'], user['client-certificate'])
  const key = await read(user['client-key-data'], user['client-key'])
  const server = new URL(cluster.server)
  return {
    server,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(cluster['insecure-skip-tls-verify'] ? { rejectUnauthorized: false } : {}),
      ...(cluster['tls-server-name'] ? { servername: cluster['tls-server-name'] } : {}),
    },
    ...(context.namespace === undefined ? {} : { namespace: context.namespace }),
    authorize: authorizer(user, dirname(file)),
    cluster: nameCluster(server, ca),
  }
}

function authorizer(user: User, directory: string): ClusterAccess['authorize'] {
  const { token, tokenFile, username, password, exec } = user
  if (exec) return pluginAuthorizer(exec, directory)
  if (tokenFile !== undefined) return fileAuthorizer(resolve(directory, tokenFile))
  if (token !== undefined) return async () => ({ authorization: `Bearer ${token}` })
  if (username === undefined) return async () => ({})
  const basic = Buffer.from(`${username}:${password ?? ''}`).toString('base64')
  return async () => ({ authorization: `Basic ${basic}` })
}

async function readAccount(): Promise<ClusterAccess> {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = process.env
  const read = (name: string) =>
    readFile(join(ACCOUNT, name), 'utf8').catch((error) => {
      throw new SandboxFault(
        `The Pod's service account cannot be read (${error.code} ${join(ACCOUNT, name)}). Set automountServiceAccountToken`,
      )
    })
  const [ca, namespace] = await Promise.all([read('ca.crt'), read('namespace')])
  const server = new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`)
  return {
    server,
    tls: { ca },
    namespace: namespace.trim(),
    authorize: fileAuthorizer(join(ACCOUNT, 'token')),
    cluster: nameCluster(server, ca),
  }
}

function fileAuthorizer(path: string): ClusterAccess['authorize'] {
  let token = ''
  let read_at = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - read_at > TOKEN_MS) {
      token = (await readFile(path, 'utf8')).trim()
      read_at = performance.now()
    }
    return { authorization: `Bearer ${token}` }
  }
}

const Credential = z.object({
  status: z.object({ token: z.string(), expirationTimestamp: z.iso.datetime({ offset: true }).optional() }),
})

/** Runs the program that a kubeconfig names for tokens, as clouds' kubeconfigs do. Its token is used until it expires. */
function pluginAuthorizer(plugin: z.infer<typeof Plugin>, directory: string): ClusterAccess['authorize'] {
  let kept: { token: string; until: number } | null = null
  return async () => {
    if (!kept || Date.now() > kept.until - TOKEN_MS) {
      const variables = Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value]))
      const info = { apiVersion: plugin.apiVersion, kind: 'ExecCredential', spec: { interactive: false } }
      const env = { ...process.env, ...variables, KUBERNETES_EXEC_INFO: JSON.stringify(info) }
      const command = plugin.command.includes('/') ? resolve(directory, plugin.command) : plugin.command
      const { stdout } = await promisify(execFile)(command, plugin.args ?? [], {
        env,
        timeout: PLUGIN_LIMIT_MS,
      }).catch((error) => {
        throw new SandboxFault(`The kubeconfig's program ${plugin.command} gave no token: ${error.message}`)
      })
      const { status } = Credential.parse(JSON.parse(stdout))
      const until = status.expirationTimestamp
        ? Date.parse(status.expirationTimestamp)
        : Number.POSITIVE_INFINITY
      kept = { token: status.token, until }
    }
    return { authorization: `Bearer ${kept.token}` }
  }
}

function parseYaml(text: string, file: string): unknown {
  try {
    return load(text)
  } catch (error) {
    throw new SandboxFault(
      `The kubeconfig ${file} is not YAML: ${error instanceof Error ? error.message : error}`,
    )
  }
}

/** By its authority, which a Pod and a kubeconfig both know, while they have different addresses for it. */
function nameCluster(server: URL, ca: string | undefined): string {
  return ca === undefined ? server.host : createHash('sha256').update(ca.trim()).digest('hex').slice(0, 16)
}

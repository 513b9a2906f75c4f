/** Entry of the warden's process: `node warden-process.ts '{"backend": …}'`; see worker/warden.ts. */
import type { KubernetesSettings } from './config-kubernetes.ts'
import { openBubblewrap, openDocker, openHost, openKubernetes } from './sandbox/open-backend.ts'
import type { SandboxBackend } from './sandbox/sandbox.ts'
import { runWarden } from './worker/warden.ts'

type OpenOptions = Pick<WardenArguments, 'data_dir' | 'installation_id' | 'kubernetes'> & { trial: boolean }

export interface WardenArguments {
  backend: string
  data_dir: string
  installation_id: string
  /** Freeze when stamps fail; not in embedded mode, where no other process can take runs over. */
  deadline: boolean
  /** Where its cluster is. */
  kubernetes?: KubernetesSettings
}

const OPEN: Record<string, (place: OpenOptions) => Promise<SandboxBackend>> = {
  bubblewrap: openBubblewrap,
  docker: openDocker,
  host: openHost,
  kubernetes: ({ kubernetes, ...options }) => openKubernetes({ ...options, ...kubernetes }),
}

const { deadline, backend, ...place } = JSON.parse(process.argv[2] ?? '{}') as WardenArguments
// A terminal's Ctrl-C is the worker's business; the warden goes when the pipe closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
const open = OPEN[backend]
if (!open) throw new Error(`There is no sandbox backend ${backend}.`)
const opened = await open({ ...place, trial: false })
await runWarden(opened, { input: process.stdin, output: process.stdout }, { deadline })
process.exit(0)

import { openBubblewrap } from '../../src/sandbox/bubblewrap.ts'
import { openDocker } from '../../src/sandbox/docker.ts'
import { openHost } from '../../src/sandbox/host.ts'
import { openKubernetes } from '../../src/sandbox/kubernetes.ts'
import type { SandboxBackend } from '../../src/sandbox/sandbox.ts'
import { CLUSTER_IMAGE } from './kubernetes-cluster.ts'

export type BackendName = 'docker' | 'bubblewrap' | 'kubernetes' | 'host'

/** The image `scripts/test-image.sh` makes. */
export const TEST_IMAGE = 'runyard-test:1'

/** Opens a real backend; every process of a test that opens it with the same arguments sees the same sandboxes. */
export function openBackend(
  name: BackendName,
  options: { data_dir: string; installation_id: string },
): Promise<SandboxBackend> {
  if (name === 'docker')
    return openDocker({ installation_id: options.installation_id, default_image: TEST_IMAGE })
  if (name === 'kubernetes') {
    const { installation_id } = options
    const namespace = process.env.RUNYARD_TEST_NAMESPACE
    // What a trial shows, and the policies it leaves, hold for the other processes of the test too.
    const trial = process.env.RUNYARD_TEST_TRIED !== installation_id
    process.env.RUNYARD_TEST_TRIED = installation_id
    return openKubernetes({
      ...{ installation_id, default_image: CLUSTER_IMAGE, trial },
      ...(namespace === undefined ? {} : { namespace }),
    })
  }
  return name === 'bubblewrap' ? openBubblewrap(options) : openHost(options)
}

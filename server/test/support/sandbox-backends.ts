import { openBubblewrap } from '../../src/sandbox/bubblewrap.ts'
import { openDocker } from '../../src/sandbox/docker.ts'
import { openHost } from '../../src/sandbox/host.ts'
import type { SandboxBackend } from '../../src/sandbox/sandbox.ts'

export type BackendName = 'docker' | 'bubblewrap' | 'host'

/** The image `scripts/test-image.sh` makes. */
export const TEST_IMAGE = 'runyard-test:1'

/** Opens a real backend; every process of a test that opens it with the same arguments sees the same sandboxes. */
export function openBackend(
  name: BackendName,
  options: { data_dir: string; installation_id: string },
): Promise<SandboxBackend> {
  if (name === 'docker')
    return openDocker({ installation_id: options.installation_id, default_image: TEST_IMAGE })
  return name === 'bubblewrap' ? openBubblewrap(options) : openHost(options)
}

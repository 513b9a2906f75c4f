import type Docker from 'dockerode'
import { messageOf } from './docker-engine.ts'
import { SandboxFault } from './sandbox.ts'

/** Pulls the image when it is not there, within the time given, and refuses what would undo the sandbox. */
export async function requireImage(
  docker: Docker,
  image: string,
  limit_ms: number,
  onPull: (image: string) => void = () => {},
): Promise<void> {
  const inspect = () => docker.getImage(image).inspect()
  let info = await inspect().catch(() => null)
  if (!info) {
    onPull(image)
    try {
      const progress = await docker.pull(image, { abortSignal: AbortSignal.timeout(limit_ms) })
      await new Promise<void>((resolve, reject) =>
        docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve())),
      )
      info = await inspect()
    } catch (error) {
      throw new SandboxFault(`image ${image} is not there and cannot be pulled: ${messageOf(error)}`)
    }
  }
  // Such volumes give room past the read-only root and stay behind.
  if (Object.keys(info.Config.Volumes ?? {}).length > 0)
    throw new SandboxFault(`image ${image} declares volumes, which sandboxes do not allow`)
}

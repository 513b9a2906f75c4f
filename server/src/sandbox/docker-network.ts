import type Docker from 'dockerode'
import { engineFault, statusOf } from './docker-engine.ts'
import { SandboxFault } from './sandbox.ts'

/** One for all sandboxes of an engine, which has room for some thirty networks only. */
const NAME = 'runyard'
/** A fixed name, for an operator's firewall rules; and the engine refuses to make it twice. */
const INTERFACE = 'runyard0'
const ISOLATED = 'com.docker.network.bridge.enable_icc'

/**
 * The network of sandboxes that are open: they reach what the machine reaches and not each other. On the engine's own
 * bridge they would, and every other container there too. Returns its name.
 */
export async function requireOpenNetwork(docker: Docker): Promise<string> {
  const network = docker.getNetwork(NAME)
  const find = () =>
    network.inspect().catch((error) => {
      if (statusOf(error) === 404) return null
      throw engineFault('the Docker engine could not look for the network', error)
    })
  let info = await find()
  if (!info) {
    const created = await docker
      .createNetwork({
        Name: NAME,
        CheckDuplicate: true,
        Driver: 'bridge',
        Options: { [ISOLATED]: 'false', 'com.docker.network.bridge.name': INTERFACE },
      })
      .then(
        () => null,
        (error) => error,
      )
    // Another worker may have made it meanwhile.
    info = await find()
    if (!info) throw engineFault('the Docker engine could not make the network', created)
  }
  if (info.Options?.[ISOLATED] !== 'false')
    throw new SandboxFault(`the Docker network ${NAME} lets its containers reach each other: remove it`)
  return NAME
}

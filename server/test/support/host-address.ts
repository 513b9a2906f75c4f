import { networkInterfaces } from 'node:os'

/** An address of this machine that is not its loopback, which sandboxes do not reach; the loopback where there is no other. */
export const addressOfHost = (): string =>
  Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1'

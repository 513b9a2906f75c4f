/** The backends of sandboxes, each loaded when it is opened: most machines use one of them. */

export const openBubblewrap: typeof import('./bubblewrap.ts').openBubblewrap = async (options) =>
  (await import('./bubblewrap.ts')).openBubblewrap(options)

export const openDocker: typeof import('./docker.ts').openDocker = async (options) =>
  (await import('./docker.ts')).openDocker(options)

export const openKubernetes: typeof import('./kubernetes.ts').openKubernetes = async (options) =>
  (await import('./kubernetes.ts')).openKubernetes(options)

export const openHost: typeof import('./host.ts').openHost = async (options) =>
  (await import('./host.ts')).openHost(options)

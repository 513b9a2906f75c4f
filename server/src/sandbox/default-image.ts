/** What sandboxes of Docker are made of where nobody names another. */
export const DEFAULT_IMAGE = 'node:24-bookworm'

/** The image of Docker sandboxes, unless the run or the operator names another. */
export const DEFAULT_IMAGE = 'node:24-bookworm'

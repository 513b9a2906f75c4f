/** How often a worker beats, in milliseconds. */
export const BEAT_MS = 2_000
/** A worker that has not beaten for so long is declared lost. */
export const SILENCE_MS = 6_000

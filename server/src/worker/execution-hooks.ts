/** What an execution tells whoever holds it. */
export interface ExecutionHooks {
  /** The run is about to be handed back because the disk has no room for it. */
  onDiskFull(): void
  /** The execution is `packing` from now on. */
  onPacking(): void
}

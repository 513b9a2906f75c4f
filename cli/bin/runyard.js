#!/usr/bin/env node
// Plain JavaScript without new syntax, so that an old Node gets as far as saying that it is old.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    `Runyard needs Node 24 or later, and this is Node ${process.versions.node}: install a newer one ` +
      '(https://nodejs.org), or use `npx runyard` in a checkout, which brings its own.\n',
  )
  process.exit(2)
}
const { enableCompileCache } = await import('node:module')
const { homedir } = await import('node:os')
// Halves the time to start. Not in the default place: others may write to the directory for temporary files.
enableCompileCache(`${process.env.XDG_CACHE_HOME || `${homedir()}/.cache`}/runyard`)
const { main } = await import('../src/main.ts')
await main(process.argv)

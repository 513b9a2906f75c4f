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
try {
  homedir()
} catch {
  // A user whom the machine has no name for, as in a container: what it may not write there is not kept.
  process.env.HOME = '/'
}
// Halves the time to start, and that of the processes which the service starts. Not in the default place: others may write to
// the directory for temporary files.
process.env.NODE_COMPILE_CACHE ||= `${process.env.XDG_CACHE_HOME || `${homedir()}/.cache`}/runyard`
enableCompileCache(process.env.NODE_COMPILE_CACHE)
const { main } = await import('../src/main.ts')
await main(process.argv)

#!/usr/bin/env node
// Plain JavaScript without new syntax, so that an old Node gets as far as saying that it is old.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    `Runyard needs Node 24 or newer, and this is Node ${process.versions.node}: in a checkout use \`npx runyard\`.\n`,
  )
  process.exit(2)
}
const { main } = await import('../src/main.ts')
await main(process.argv)

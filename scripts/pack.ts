/** `npm run pack`: builds what is to be published, ready to be installed, in dist/. Prints the paths. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packClient } from './pack-client.ts'
import { packCommand } from './pack-command.ts'
import { packPython } from './pack-python.ts'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
const print = (file: string): void => console.log(relative(process.cwd(), file))

print(await packCommand(dist))
print(await packClient(dist))
const python = await packPython(dist)
if ('wheel' in python) print(python.wheel)
else console.error(`Left out the Python package: ${python.missing}`)

/** `npm run pack [-- FOLDER]`: builds what is to be published, ready to be installed, in dist/ or the folder. Prints the paths. */
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packChart } from './pack-chart.ts'
import { packClient } from './pack-client.ts'
import { packCommand } from './pack-command.ts'
import { packImage } from './pack-image.ts'
import { packPython } from './pack-python.ts'

const dist = resolve(process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url)))
const print = (file: string): void => console.log(relative(process.cwd(), file))

print(await packCommand(dist))
print(await packClient(dist))
print(await packImage(dist))
print(await packChart(dist))
const python = await packPython(dist)
if ('wheel' in python) print(python.wheel)
else console.error(`Left out the Python package: ${python.missing}`)

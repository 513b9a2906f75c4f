/** A registry of packages for npm and pip, with one package each, on an address of this machine. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { addressOfHost } from './host-address.ts'
import { temporaryDirectory } from './service.ts'

export interface PackageRegistry {
  /** `address:port`. */
  host: string
  url: string
  /** Paths that were asked for. */
  asked: string[]
  close(): void
}

const NAME = 'runyard-sample'
const WHEEL = 'runyard_sample-1.0.0-py3-none-any.whl'

export async function servePackages(): Promise<PackageRegistry> {
  const directory = temporaryDirectory('registry')
  const tarball = makeNpmPackage(directory)
  const wheel = makeWheel(directory)
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    asked.push(path)
    if (path === `/${NAME}`) return response.end(JSON.stringify(describePackage(tarball)))
    if (path === `/${NAME}-1.0.0.tgz`) return response.end(tarball)
    if (path === `/simple/${NAME}/`) {
      response.setHeader('content-type', 'text/html')
      return response.end(`<!DOCTYPE html><a href="/${WHEEL}">${WHEEL}</a>`)
    }
    if (path === `/${WHEEL}`) return response.end(wheel)
    if (path === '/away') return response.writeHead(302, { location: 'http://elsewhere.example/' }).end()
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, addressOfHost(), resolve))
  const { address, port } = server.address() as AddressInfo
  const host = `${address}:${port}`
  const url = `http://${host}`
  const describePackage = (bytes: Buffer) => ({
    name: NAME,
    'dist-tags': { latest: '1.0.0' },
    versions: {
      '1.0.0': {
        ...{ name: NAME, version: '1.0.0' },
        dist: {
          tarball: `${url}/${NAME}-1.0.0.tgz`,
          integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
        },
      },
    },
  })
  return {
    host,
    url,
    asked,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function makeNpmPackage(directory: string): Buffer {
  const folder = join(directory, 'package')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: NAME, version: '1.0.0' }))
  writeFileSync(join(folder, 'index.js'), "module.exports = 'from the registry'\n")
  const file = join(directory, 'package.tgz')
  execFileSync('tar', ['-czf', file, '-C', directory, 'package'])
  return readFileSync(file)
}

/** PEP 427: a zip of the module and of what it is called. */
function makeWheel(directory: string): Buffer {
  const file = join(directory, WHEEL)
  const files = {
    'runyard_sample.py': 'SAID = "from the index"\n',
    'runyard_sample-1.0.0.dist-info/METADATA': `Metadata-Version: 2.1\nName: ${NAME}\nVersion: 1.0.0\n`,
    'runyard_sample-1.0.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'runyard_sample-1.0.0.dist-info/RECORD': '',
  }
  const program =
    'import json, sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], "w") as z:\n  [z.writestr(*each) for each in json.loads(sys.argv[2]).items()]'
  execFileSync('python3', ['-c', program, file, JSON.stringify(files)])
  return readFileSync(file)
}

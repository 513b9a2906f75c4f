/** A copy of the work tree in which files can be changed and tests run, while the work tree stays as it is. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const PACKAGES = [
  'node_modules',
  '{server,client,cli,web}/node_modules',
  'test/{tools,long-tools}/node_modules',
]

/** Files are copied as they are in the work tree, packages are hard links: `node_modules/@runyard` leads into the copy. */
export function copyWorkTree(root: string, copy: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of listed.split('\0').filter((path) => path && existsSync(join(root, path))))
    cpSync(join(root, file), join(copy, file), { verbatimSymlinks: true })
  for (const folder of globSync(PACKAGES, { cwd: root })) linkFolder(root, copy, folder)
  linkPython(root, copy)
  if (existsSync(join(root, 'web/dist')))
    cpSync(join(root, 'web/dist'), join(copy, 'web/dist'), { recursive: true })
  // Some tests ask git which files there are.
  execFileSync('sh', ['-c', 'git init -q && git add -A'], { cwd: copy })
}

function linkFolder(root: string, copy: string, folder: string): void {
  const to = join(copy, dirname(folder))
  mkdirSync(to, { recursive: true })
  // Another file system takes no hard links.
  if (spawnSync('cp', ['-al', join(root, folder), to], { stdio: 'ignore' }).status !== 0)
    execFileSync('cp', ['-a', '-f', join(root, folder), to])
}

/** As in `scripts/setup_python.py`: an environment belongs to its interpreter, its folder and the packages that were wanted. */
const FINGERPRINT = `import hashlib, sys
made = [sys.base_prefix.encode(), sys.version.encode(), sys.argv[1].encode(), open(sys.argv[2], "rb").read()]
print(hashlib.sha256(b"\\0".join(made)).hexdigest())`

/** Tells the copy’s setup that the environment is made for it, so that only the library is installed anew. */
function linkPython(root: string, copy: string): void {
  const stamp = join(root, '.venv/runyard-stamp')
  if (!existsSync(stamp)) return
  const fingerprint = (folder: string): string => {
    const args = ['-c', FINGERPRINT, resolve(realpathSync(folder)), join(root, 'python/requirements-dev.txt')]
    return execFileSync(join(root, '.venv/bin/python'), args, { encoding: 'utf8' }).trim()
  }
  // One that is out of date is of no use to the copy either.
  if (readFileSync(stamp, 'utf8').split('\n')[0] !== fingerprint(root)) return
  linkFolder(root, copy, '.venv')
  // Removed first: as a hard link it would be the stamp of the work tree.
  rmSync(join(copy, '.venv/runyard-stamp'))
  writeFileSync(join(copy, '.venv/runyard-stamp'), `${fingerprint(copy)}\n`)
}

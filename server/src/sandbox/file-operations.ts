import { constants } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { OutputRing } from './output-ring.ts'
import {
  collectExec,
  type ExecExit,
  type ExecHandle,
  type ExecOptions,
  type FileStat,
  quote,
  type Sandbox,
  SandboxFault,
  SandboxFileError,
} from './sandbox.ts'

type Exec = (options: ExecOptions) => ExecHandle

export type FileOperations = Pick<
  Sandbox,
  'readFile' | 'openFile' | 'writeFile' | 'listDirectory' | 'stat' | 'deleteFile' | 'importTar' | 'exportTar'
>

const DEFAULT_MAX_BYTES = 10 * 1024 ** 2
const TIMEOUT_MS = 60_000
const TAR_TIMEOUT_MS = 30 * 60_000
const MESSAGE_BYTES = 64 * 1024

/** What tools print for the errors no test can foresee (LC_ALL=C). */
const MESSAGES = [
  ['ENOSPC', 'No space left on device'],
  ['EDQUOT', 'Disk quota exceeded'],
  ['EACCES', 'Permission denied'],
  ['EROFS', 'Read-only file system'],
  ['ENOTDIR', 'Not a directory'],
  ['EEXIST', 'File exists'],
  ['ENAMETOOLONG', 'File name too long'],
  ['ELOOP', 'Too many levels of symbolic links'],
] as const

/** How a source fails because its reader ended, not by itself. */
const READER_LEFT = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'])

/** Exit codes by which the scripts below name an errno; chosen off the ones tools use themselves. */
const ERRNO = new Map([
  [81, 'ENOENT'],
  [82, 'EISDIR'],
  [83, 'ENOTDIR'],
  [84, 'EACCES'],
  [85, 'EFBIG'],
  [86, 'EINVAL'],
])

/** Follows symlinks as the sandbox's user, inside; refuses what `cat` would block on (FIFOs, devices). */
const REQUIRE_FILE = `
[ -e "$p" ] || exit 81
[ -d "$p" ] && exit 82
[ -f "$p" ] || exit 86
[ -r "$p" ] || exit 84`

const LIST = `
[ -e "$p" ] || exit 81
[ -d "$p" ] || exit 83
[ -r "$p" ] && cd -- "$p" || exit 84
for f in * .[!.]* ..?*; do
  if [ -L "$f" ]; then t=symlink
  elif [ -d "$f" ]; then t=directory
  elif [ -f "$f" ]; then t=file
  elif [ -e "$f" ]; then t=other
  else continue
  fi
  printf '%s/%s\\0' "$t" "$f"
done`

const readScript = (max_bytes: number): string => `${REQUIRE_FILE}
[ "$(stat -L -c %s -- "$p")" -le ${max_bytes} ] || exit 85
exec head -c ${max_bytes + 1} -- "$p"`

/**
 * File operations of any backend: small shell scripts run inside by `exec`, which must add no environment.
 * `locate` translates paths for a backend that cannot mount the workspace where the interface says it is.
 */
export function makeFileOperations(
  exec: Exec,
  options: { import_bytes: number; locate?: (path: string) => string },
): FileOperations {
  const locate = (path: string) => quote((options.locate ?? ((same) => same))(resolvePath(path)))
  const run = async (path: string, script: string, overrides: Partial<ExecOptions> = {}) => {
    const result = await collectExec(
      exec({
        timeout_ms: TIMEOUT_MS,
        ...overrides,
        cwd: '/',
        command: `export LC_ALL=C; p=${locate(path)}; ${script}`,
      }),
    )
    requireSuccess(result.exit, path, result.stderr)
    return result
  }

  return {
    async readFile(path, options = {}) {
      const max_bytes = options.max_bytes ?? DEFAULT_MAX_BYTES
      const { stdout } = await run(path, readScript(max_bytes), {
        max_output_bytes: max_bytes + MESSAGE_BYTES,
      })
      if (stdout.length > max_bytes) throw fileError('EFBIG', path)
      return stdout
    },

    openFile(path, { max_bytes }) {
      const command = `export LC_ALL=C; p=${locate(path)}; ${readScript(max_bytes)}`
      const whole = { max_output_bytes: Number.POSITIVE_INFINITY, timeout_ms: TIMEOUT_MS }
      const cap = capBytes(max_bytes, path)
      // A failure of either ends both, and is the one that its reader gets.
      pipeline(readStdout(path, exec({ command, cwd: '/', ...whole })), cap).catch(() => {})
      return cap
    },

    async writeFile(path, data, options = {}) {
      const mode = options.mode === undefined ? '' : ` && chmod ${options.mode.toString(8)} -- "$p"`
      await run(
        path,
        `[ -d "$p" ] && exit 82
[ ! -e "$p" ] || [ -f "$p" ] || exit 86
mkdir -p -- "\${p%/*}/" && cat > "$p"${mode}`,
        { stdin: data },
      )
    },

    async listDirectory(path) {
      const { stdout } = await run(path, LIST, { max_output_bytes: Number.POSITIVE_INFINITY })
      return stdout
        .toString()
        .split('\0')
        .filter((line) => line !== '')
        .map((line) => {
          const slash = line.indexOf('/')
          return { name: line.slice(slash + 1), type: toFileType(line.slice(0, slash)) }
        })
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    },

    async stat(path) {
      const { stdout } = await run(
        path,
        `[ -e "$p" ] || [ -L "$p" ] || exit 0; exec stat -c '%f %s %.3Y' -- "$p"`,
      )
      const [mode, size, seconds] = stdout.toString().trim().split(' ')
      if (!mode) return null
      return {
        type: fileTypeOfMode(Number.parseInt(mode, 16)),
        size: Number(size),
        modified_at: Math.round(Number(seconds) * 1000),
      }
    },

    async deleteFile(path) {
      await run(
        path,
        `[ -e "$p" ] || [ -L "$p" ] || exit 81
[ -d "$p" ] && [ ! -L "$p" ] && exit 82
exec rm -f -- "$p"`,
      )
    },

    async importTar(stream, path = '/workspace') {
      const input = capBytes(options.import_bytes, path)
      const [fed, unpacked] = await Promise.allSettled([
        pipeline(stream, input),
        run(path, 'mkdir -p -- "$p" && tar -x -p --no-same-owner -f - -C "$p" && cat > /dev/null', {
          stdin: input,
          timeout_ms: TAR_TIMEOUT_MS,
        }),
      ])
      // A source that broke off explains what tar then says; that tar left before the end is explained by tar.
      if (fed.status === 'rejected' && !READER_LEFT.has(fed.reason.code)) throw fed.reason
      if (unpacked.status === 'rejected') throw unpacked.reason
      if (fed.status === 'rejected') throw fed.reason
    },

    exportTar(path = '/workspace') {
      const command = `p=${locate(path)}; [ -d "$p" ] || exit 83; exec tar -c -f - -C "$p" .`
      return Readable.from(
        readStdout(
          path,
          exec({ command, cwd: '/', max_output_bytes: Number.POSITIVE_INFINITY, timeout_ms: TAR_TIMEOUT_MS }),
          // A file changed while it was read, which a snapshot of a living workspace accepts.
          1,
        ),
        { objectMode: false },
      )
    },
  }
}

/** An absolute path inside the sandbox; nothing is normalised, so `..` means what it means there. */
export function resolvePath(path: string): string {
  if (path === '' || path.includes('\0')) throw fileError('EINVAL', path)
  return path.startsWith('/') ? path : `/workspace/${path}`
}

async function* readStdout(path: string, handle: ExecHandle, accepted?: number): AsyncGenerator<Uint8Array> {
  const message = new OutputRing(MESSAGE_BYTES)
  try {
    for await (const { stream, data } of handle.output) {
      if (stream === 'stdout') yield data
      else message.push(stream, data)
    }
    const exit = await handle.exit
    if (exit.code !== accepted) requireSuccess(exit, path, message.read())
  } finally {
    await handle.kill()
  }
}

function requireSuccess(exit: ExecExit, path: string, stderr: Buffer): void {
  if (exit.code === 0) return
  const code = ERRNO.get(exit.code ?? 0)
  if (code) throw fileError(code, path)
  if (exit.timed_out) throw new SandboxFault(`A file operation on ${path} took too long`)
  const message = stderr.toString().trim()
  if (exit.code === null) throw new SandboxFault(`A file operation on ${path} was killed: ${message}`)
  const known = MESSAGES.find(([, text]) => message.includes(text))
  throw new SandboxFileError(known?.[0] ?? 'EIO', message || `${path}: exit code ${exit.code}`)
}

function fileError(code: string, path: string): SandboxFileError {
  return new SandboxFileError(code, `${code}: ${path}`)
}

function capBytes(max_bytes: number, path: string): Transform {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      bytes += chunk.length
      callback(bytes > max_bytes ? fileError('EFBIG', path) : null, chunk)
    },
  })
}

function fileTypeOfMode(mode: number): FileStat['type'] {
  const kind = mode & constants.S_IFMT
  if (kind === constants.S_IFREG) return 'file'
  if (kind === constants.S_IFDIR) return 'directory'
  return kind === constants.S_IFLNK ? 'symlink' : 'other'
}

function toFileType(word: string): FileStat['type'] {
  return word === 'file' || word === 'directory' || word === 'symlink' ? word : 'other'
}

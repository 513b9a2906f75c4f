import { gzipSync } from 'node:zlib'
import { packTar } from 'modern-tar'

/** A `.tar.gz` of files by their names: the same bytes for the same files, on whatever machine and day. */
export async function packFolder(files: Readonly<Record<string, Buffer>>): Promise<Buffer> {
  const entries = Object.entries(files).map(([name, body]) => ({
    header: { name, size: body.length, mode: name.endsWith('.sh') ? 0o755 : 0o644, mtime: new Date(0) },
    body: new Uint8Array(body),
  }))
  return gzipSync(await packTar(entries), { level: 9 })
}

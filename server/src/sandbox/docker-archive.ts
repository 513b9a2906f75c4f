const BLOCK_BYTES = 512
const ROOT = 0

/** What an archive holds: a directory (`null`) or a file of the sandbox user's own, or a file of root's. */
export type ArchiveEntry = null | string | { data: Buffer; mode: number }

/** A POSIX ustar archive, its entries those of `user`; unpacked over what is there, it changes the owner of existing directories. */
export function makeArchive(entries: Record<string, ArchiveEntry>, user = 1000): Buffer {
  const blocks = Object.entries(entries).flatMap(([name, entry]) => {
    if (entry === null) return [makeHeader(`${name}/`, '5', 0o755, user, 0)]
    const [data, mode, owner] =
      typeof entry === 'string' ? [Buffer.from(entry), 0o644, user] : [entry.data, entry.mode, ROOT]
    const padding = Buffer.alloc((BLOCK_BYTES - (data.length % BLOCK_BYTES)) % BLOCK_BYTES)
    return [makeHeader(name, '0', mode, owner, data.length), data, padding]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)])
}

/** `type` is `0` for a file and `5` for a directory. */
function makeHeader(name: string, type: '0' | '5', mode: number, owner: number, size: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  const octal = (value: number, offset: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset)
  header.write(name, 0)
  octal(mode, 100, 8)
  octal(owner, 108, 8)
  octal(owner, 116, 8)
  octal(size, 124, 12)
  octal(Math.floor(Date.now() / 1000), 136, 12)
  // The checksum counts its own field as spaces.
  header.write('        ', 148)
  header.write(type, 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

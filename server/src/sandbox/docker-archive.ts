const BLOCK_BYTES = 512
const OWNER = 1000

/**
 * A POSIX ustar archive of directories (`null`) and files, all of them the sandbox user's own; unpacked over what is
 * there, it changes the owner of existing directories.
 */
export function makeOwnedArchive(entries: Record<string, string | null>): Buffer {
  const blocks = Object.entries(entries).flatMap(([name, content]) => {
    if (content === null) return [makeHeader(`${name}/`, '5', 0o755, 0)]
    const data = Buffer.from(content)
    const padding = Buffer.alloc((BLOCK_BYTES - (data.length % BLOCK_BYTES)) % BLOCK_BYTES)
    return [makeHeader(name, '0', 0o644, data.length), data, padding]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)])
}

/** `type` is `0` for a file and `5` for a directory. */
function makeHeader(name: string, type: '0' | '5', mode: number, size: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  const octal = (value: number, offset: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset)
  header.write(name, 0)
  octal(mode, 100, 8)
  octal(OWNER, 108, 8)
  octal(OWNER, 116, 8)
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

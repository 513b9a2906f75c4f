/**
 * What must not depend on an image: the program behind process 1, and the one that kills. Both are this one, so small
 * that it is written out here, without a library or a loader that an image could replace. Alone it sleeps for ever; with
 * an argument it kills every process its user may kill, except itself.
 */
const CODE: Record<string, { machine: number; code: string }> = {
  amd64: {
    machine: 62,
    code: `
      48 83 3c 24 01        cmp  [rsp], 1      ; how many arguments, the name counted
      77 09                 ja   kill
      b8 22 00 00 00        mov  eax, 34       ; pause()
      0f 05                 syscall
      eb f7                 jmp  -9
      b8 3e 00 00 00        mov  eax, 62       ; kill(-1, SIGKILL)
      48 c7 c7 ff ff ff ff  mov  rdi, -1
      be 09 00 00 00        mov  esi, 9
      0f 05                 syscall
      b8 e7 00 00 00        mov  eax, 231      ; exit_group(0)
      31 ff                 xor  edi, edi
      0f 05                 syscall`,
  },
  arm64: {
    machine: 183,
    code: `
      e9 03 40 f9           ldr  x9, [sp]      ; how many arguments, the name counted
      3f 05 00 f1           cmp  x9, 1
      08 01 00 54           b.hi kill
      00 00 80 d2           mov  x0, 0         ; ppoll(NULL, 0, NULL, NULL)
      01 00 80 d2           mov  x1, 0
      02 00 80 d2           mov  x2, 0
      03 00 80 d2           mov  x3, 0
      28 09 80 d2           mov  x8, 73
      01 00 00 d4           svc  0
      fa ff ff 17           b    -24
      00 00 80 92           mov  x0, -1        ; kill(-1, SIGKILL)
      21 01 80 d2           mov  x1, 9
      28 10 80 d2           mov  x8, 129
      01 00 00 d4           svc  0
      00 00 80 d2           mov  x0, 0         ; exit_group(0)
      c8 0b 80 d2           mov  x8, 94
      01 00 00 d4           svc  0`,
  },
}

const HEADER_BYTES = 64
const SEGMENT_BYTES = 56
const ADDRESS = 0x400000
const READ_AND_EXECUTE = 5
/** The largest page of either processor. */
const ALIGNMENT = 0x10000

/** The program for an image's architecture, as images name it; `null` for one it was not written for. */
export function makeProgram(architecture: string): Buffer | null {
  const entry = CODE[architecture]
  if (!entry) return null
  const bytes = entry.code.split('\n').flatMap((line) => line.match(/^ +((?:[0-9a-f]{2} )+)/)?.[1] ?? [])
  return makeExecutable(entry.machine, Buffer.from(bytes.join('').replaceAll(' ', ''), 'hex'))
}

/** A static ELF file of one segment, which begins with the headers. */
function makeExecutable(machine: number, code: Buffer): Buffer {
  const start = HEADER_BYTES + SEGMENT_BYTES
  const file = Buffer.concat([Buffer.alloc(start), code])
  file.write('\x7fELF\x02\x01\x01', 0, 'latin1')
  file.writeUInt16LE(2, 16)
  file.writeUInt16LE(machine, 18)
  file.writeUInt32LE(1, 20)
  file.writeBigUInt64LE(BigInt(ADDRESS + start), 24)
  file.writeBigUInt64LE(BigInt(HEADER_BYTES), 32)
  file.writeUInt16LE(HEADER_BYTES, 52)
  file.writeUInt16LE(SEGMENT_BYTES, 54)
  file.writeUInt16LE(1, 56)
  file.writeUInt32LE(1, HEADER_BYTES)
  file.writeUInt32LE(READ_AND_EXECUTE, HEADER_BYTES + 4)
  for (const [offset, value] of [
    [16, ADDRESS],
    [24, ADDRESS],
    [32, file.length],
    [40, file.length],
    [48, ALIGNMENT],
  ] as const)
    file.writeBigUInt64LE(BigInt(value), HEADER_BYTES + offset)
  return file
}

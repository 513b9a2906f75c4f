/** Set in the number of a system call, it means the x32 ABI. */
export const X32_BIT = 0x40000000

/**
 * A whole ELF program for x86_64 that makes one system call through the 32-bit entry (`int 0x80`) and exits, through the
 * same one, with the number of its error or 0.
 */
export function makeProgram32(number: number, first: number, second: number): Buffer {
  const word = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value | 0)
    return [...bytes]
  }
  const code = Buffer.from([
    ...[0xb8, ...word(number)], // mov eax, number
    ...[0xbb, ...word(first)], // mov ebx, first
    ...[0xb9, ...word(second)], // mov ecx, second
    ...[0x31, 0xd2, 0x31, 0xf6, 0x31, 0xff], // xor edx, esi, edi
    ...[0xcd, 0x80], // int 0x80
    ...[0x31, 0xdb], // xor ebx, ebx
    ...[0x85, 0xc0, 0x79, 0x04], // test eax, eax; jns over the next two
    ...[0xf7, 0xd8, 0x89, 0xc3], // neg eax; mov ebx, eax
    ...[0xb8, ...word(1)], // mov eax, exit
    ...[0xcd, 0x80],
  ])
  const START = 0x400000
  const HEADERS = 64 + 56
  const file = Buffer.alloc(HEADERS + code.length)
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
  file.writeUInt16LE(2, 16) // executable
  file.writeUInt16LE(62, 18) // x86_64
  file.writeUInt32LE(1, 20)
  file.writeBigUInt64LE(BigInt(START + HEADERS), 24) // entry
  file.writeBigUInt64LE(64n, 32) // program headers
  file.writeUInt16LE(64, 52)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(1, 56)
  file.writeUInt32LE(1, 64) // load
  file.writeUInt32LE(5, 68) // readable, executable
  file.writeBigUInt64LE(BigInt(START), 80)
  file.writeBigUInt64LE(BigInt(START), 88)
  file.writeBigUInt64LE(BigInt(file.length), 96)
  file.writeBigUInt64LE(BigInt(file.length), 104)
  file.writeBigUInt64LE(0x1000n, 112)
  code.copy(file, HEADERS)
  return file
}

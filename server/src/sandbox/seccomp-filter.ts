import { ABSENT_CALLS, ALLOWED_CALLS, CHECKED_CALLS, type CheckedCall } from './system-calls.ts'

const ARCHITECTURES = {
  x64: { column: 0, audit: 0xc000003e },
  arm64: { column: 1, audit: 0xc00000b7 },
} as const

/** Calls of the x32 ABI carry this bit and would pass by other numbers. */
const X32_BIT = 0x40000000

/** Offsets in the kernel's `struct seccomp_data`; the second is that of the low half. */
const NUMBER = 0
const ARCHITECTURE = 4
const FIRST_ARGUMENT = 16

const LOAD = 0x20
const AND = 0x54
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_ABOVE = 0x25
const JUMP_IF_AT_LEAST = 0x35
const RETURN = 0x06
const ALLOW = 0x7fff0000
const DENY_EPERM = 0x00050001
const DENY_ENOSYS = 0x00050026
const KILL_PROCESS = 0x80000000

/**
 * A classic BPF program for `seccomp(2)` as the kernel and `bwrap --seccomp` read it, or `null` on a processor it was
 * not written for. Denied calls fail with EPERM, calls newer than the list with ENOSYS, as on an older kernel; calls of
 * another architecture kill the process.
 */
export function makeSeccompFilter(processor: string): Buffer | null {
  if (processor !== 'x64' && processor !== 'arm64') return null
  const { column, audit } = ARCHITECTURES[processor]
  const program = [
    instruction(LOAD, ARCHITECTURE),
    instruction(JUMP_IF_EQUAL, audit, 1, 0),
    instruction(RETURN, KILL_PROCESS),
    instruction(LOAD, NUMBER),
  ]
  if (processor === 'x64')
    program.push(instruction(JUMP_IF_AT_LEAST, X32_BIT, 0, 1), instruction(RETURN, KILL_PROCESS))
  for (const call of Object.values(CHECKED_CALLS)) program.push(...checked(call, call.numbers[column]))
  for (const numbers of Object.values(ABSENT_CALLS))
    program.push(...unless(JUMP_IF_EQUAL, numbers[column] ?? -1, DENY_ENOSYS))
  // Upwards, so whatever lies below the next range is in none.
  const ranges = findRanges([...ALLOWED_CALLS.values()].map((numbers) => numbers[column]))
  for (const [first, last] of ranges) {
    program.push(instruction(JUMP_IF_AT_LEAST, first, 1, 0), instruction(RETURN, DENY_EPERM))
    program.push(instruction(JUMP_IF_ABOVE, last, 1, 0), instruction(RETURN, ALLOW))
  }
  program.push(instruction(RETURN, DENY_ENOSYS))
  return Buffer.concat(program)
}

/**
 * The same for a container engine: a seccomp profile as JSON. Engines know calls by name and answer ENOSYS themselves to
 * those newer than the profile. No 32-bit programs, whose calls have other numbers and reach sockets by other ways.
 */
export function makeSeccompProfile(): string {
  const allow = { action: 'SCMP_ACT_ALLOW' }
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ERRNO',
    archMap: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64'].map((architecture) => ({
      architecture,
      subArchitectures: [],
    })),
    syscalls: [
      { ...allow, names: [...ALLOWED_CALLS.keys()] },
      ...Object.entries(CHECKED_CALLS).flatMap(([name, { mask, values }]) =>
        values.map((value) => ({
          ...allow,
          names: [name],
          args: [{ index: 0, op: 'SCMP_CMP_MASKED_EQ', value: mask, valueTwo: value }],
        })),
      ),
      { names: Object.keys(ABSENT_CALLS), action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
    ],
  })
}

function checked({ mask, values }: CheckedCall, number: number | null): Buffer[] {
  const check = [
    instruction(LOAD, FIRST_ARGUMENT),
    instruction(AND, mask),
    ...values.flatMap((value) => unless(JUMP_IF_EQUAL, value, ALLOW)),
    instruction(RETURN, DENY_EPERM),
  ]
  return number === null ? [] : [instruction(JUMP_IF_EQUAL, number, 0, check.length), ...check]
}

function findRanges(numbers: Array<number | null>): Array<[first: number, last: number]> {
  const ranges: Array<[number, number]> = []
  for (const number of numbers.filter((each) => each !== null).sort((a, b) => a - b)) {
    const open = ranges.at(-1)
    if (open && number === open[1] + 1) open[1] = number
    else ranges.push([number, number])
  }
  return ranges
}

/** Returns `verdict` where the comparison holds; else goes on. */
function unless(jump: number, operand: number, verdict: number): Buffer[] {
  return [instruction(jump, operand, 0, 1), instruction(RETURN, verdict)]
}

/** One `struct sock_filter`; jumps count the instructions to skip. Both processors are little-endian. */
function instruction(code: number, operand: number, if_true = 0, if_false = 0): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(if_true, 2)
  bytes.writeUInt8(if_false, 3)
  bytes.writeUInt32LE(operand >>> 0, 4)
  return bytes
}

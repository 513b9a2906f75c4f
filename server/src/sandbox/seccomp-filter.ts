/**
 * System calls that reach across sandboxes or deep into the kernel and that no build or test needs, by number on
 * x86_64 and aarch64 (`null`: not there). The kernel's key rings are shared between sandboxes; the others have a record
 * of ways out. Docker's default profile denies the same ones.
 */
const DENIED: Record<string, readonly [x86_64: number | null, aarch64: number | null]> = {
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  unshare: [272, 97],
  setns: [308, 268],
  open_by_handle_at: [304, 265],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  kcmp: [312, 272],
  iopl: [172, null],
  ioperm: [173, null],
}

const ARCHITECTURES = {
  x64: { column: 0, audit: 0xc000003e, socket: 41 },
  arm64: { column: 1, audit: 0xc00000b7, socket: 198 },
} as const

const AF_VSOCK = 40
/** Calls of the x32 ABI carry this bit and would pass by other numbers. */
const X32_BIT = 0x40000000

/** Offsets in the kernel's `struct seccomp_data`. */
const NUMBER = 0
const ARCHITECTURE = 4
const FIRST_ARGUMENT = 16

const LOAD = 0x20
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_AT_LEAST = 0x35
const RETURN = 0x06
const ALLOW = 0x7fff0000
const DENY_EPERM = 0x00050001
const KILL_PROCESS = 0x80000000

/**
 * A classic BPF program for `seccomp(2)` as the kernel and `bwrap --seccomp` read it, or `null` on a processor it was
 * not written for. Denied calls fail with EPERM; calls of another architecture kill the process.
 */
export function makeSeccompFilter(processor: string): Buffer | null {
  if (processor !== 'x64' && processor !== 'arm64') return null
  const { column, audit, socket } = ARCHITECTURES[processor]
  const program = [
    instruction(LOAD, ARCHITECTURE),
    instruction(JUMP_IF_EQUAL, audit, 1, 0),
    instruction(RETURN, KILL_PROCESS),
    instruction(LOAD, NUMBER),
  ]
  if (processor === 'x64')
    program.push(instruction(JUMP_IF_AT_LEAST, X32_BIT, 0, 1), instruction(RETURN, KILL_PROCESS))
  for (const numbers of Object.values(DENIED)) {
    const number = numbers[column]
    if (number === null) continue
    program.push(instruction(JUMP_IF_EQUAL, number, 0, 1), instruction(RETURN, DENY_EPERM))
  }
  program.push(
    instruction(JUMP_IF_EQUAL, socket, 0, 3),
    instruction(LOAD, FIRST_ARGUMENT),
    instruction(JUMP_IF_EQUAL, AF_VSOCK, 0, 1),
    instruction(RETURN, DENY_EPERM),
    instruction(RETURN, ALLOW),
  )
  return Buffer.concat(program)
}

/** One `struct sock_filter`; jumps count the instructions to skip. Both processors are little-endian. */
function instruction(code: number, operand: number, if_true = 0, if_false = 0): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(if_true, 2)
  bytes.writeUInt8(if_false, 3)
  bytes.writeUInt32LE(operand, 4)
  return bytes
}

import type { Readable } from 'node:stream'
import { COMMAND_FILE } from './bubblewrap-command.ts'
import type { RunningBwrap } from './bubblewrap-process.ts'
import { ExecSlot, type SlotParts } from './exec-slot.ts'
import { PROXY_PLACE, SandboxFault } from './sandbox.ts'

const proxy_port = PROXY_PLACE.port.toString(16).toUpperCase().padStart(4, '0')

/**
 * Connections through the proxy stay, as does what listens for them. The kernel looks through the whole machine's for the lists of
 * them, which takes milliseconds, so these are read only where the counts do not say that there is nothing else.
 */
const makeConnectionCheck = (listening: number) => `  {
    read -r runyard_left
    read -r runyard_left runyard_left runyard_used runyard_left runyard_left runyard_left runyard_closing runyard_left
  } < /proc/net/sockstat || return 1
  [ "$runyard_used $runyard_closing" = '${listening} 0' ] && return
  for runyard_kind in tcp tcp6; do
    [ -e /proc/net/$runyard_kind ] || continue
    {
      read -r runyard_left
      while read -r runyard_left runyard_local runyard_remote runyard_left; do
        case "$runyard_local $runyard_remote" in
          *:${proxy_port}*) ;;
          *) return 1 ;;
        esac
      done
    } < /proc/net/$runyard_kind || return 1
  done`

/**
 * What a sandbox's `/bin/sh` runs to take one command after another, as `SLOT_SCRIPT` of Docker's slots does. It goes on only
 * where the command left nothing: no process beside it and the namespace's first, nothing in the memory and the message queues
 * that processes share, no connection whose port stays taken. Signals that a command sends to its process group are not for the
 * slot. Each command opens the outputs again: what it sets on them, not to block for one thing, is its own. `pkill -f` would
 * meet the shell of a command whose text stood in its arguments. `prepare`: what comes before any command. `listening`: the
 * service's own sockets in the slot's network; `null`: it is the machine's.
 */
export const makeSlotScript = (shell: string, prepare: string, listening: number | null): string => `set -- '
'
${prepare}
trap : HUP INT QUIT USR1 USR2 PIPE ALRM TERM
exec 4>&2 2>/dev/null
runyard_go() {
  exec 2> /proc/self/fd/4 4>&-
  cd -- "$1" || exit 126
  export runyard_command="$2"
  exec ${shell} -c 'set -- "$runyard_command"; unset runyard_command; eval "set --; $1"' ${COMMAND_FILE}
}
runyard_alone() {
  for runyard_try in 1 2 3 4 5 6 7 8 9; do
    set -- /proc/[0-9]*
    [ $# -eq 2 ] && break
  done
  [ $# -eq 2 ] || return 1
  for runyard_place in /dev/shm /dev/mqueue; do
    [ -r $runyard_place ] && [ -w $runyard_place ] && [ -x $runyard_place ] || return 1
    set -- $runyard_place/* $runyard_place/.[!.]* $runyard_place/..?*
    [ "$*" = "$runyard_place/* $runyard_place/.[!.]* $runyard_place/..?*" ] || return 1
  done
  for runyard_kind in shm sem msg; do
    { read -r runyard_left && ! read -r runyard_left; } < /proc/sysvipc/$runyard_kind || return 1
  done
${listening === null ? '' : makeConnectionCheck(listening)}
}
printf r
while read -r runyard_mode runyard_end runyard_begin && IFS= read -r runyard_line; do
  printf '\\036%s' "$runyard_begin"
  read -r runyard_may && [ "$runyard_may" = go ] || exit
  (eval "$runyard_line") < /dev/null > /proc/self/fd/1
  runyard_code=$?
  runyard_line=''
  runyard_alone || exit "$runyard_code"
  printf '\\036%s%s\\n' "$runyard_end" "$runyard_code"
  printf '\\036%s%s\\n' "$runyard_end" "$runyard_code" >&4
done
`

/** A slot on a `bwrap` whose command is `makeSlotScript`'s. */
export function makeSlot(
  running: RunningBwrap,
  rest: Pick<SlotParts, 'isFrozen' | 'isSound' | 'onFree'>,
): ExecSlot {
  const { stdin, stdout, stderr, ended } = running
  if (!stdin) throw new SandboxFault('bubblewrap was started without an input')
  return new ExecSlot({
    input: stdin,
    async read(deliver) {
      await Promise.all([
        readAll(stdout, (data) => deliver('stdout', data)),
        readAll(stderr, (data) => deliver('stderr', data)),
      ])
    },
    cut() {
      stdout.destroy()
      stderr.destroy()
    },
    readExit: () => ended,
    kill: running.kill,
    keepAwake: running.keepAwake,
    ...rest,
  })
}

/** Resolves when the stream has ended, or was cut. */
async function readAll(stream: Readable, deliver: (data: Buffer) => Promise<void>): Promise<void> {
  try {
    for await (const data of stream) await deliver(data)
  } catch {
    // How the slot ended is asked for separately.
  }
}

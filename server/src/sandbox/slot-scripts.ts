/** Runs `$runyard_command` in place of the shell, which forgets the variable first. */
const BECOME = ['/bin/bash', '/bin/sh']
  .map(
    (shell) =>
      `[ -x ${shell} ] && exec ${shell} -c 'set -- "$runyard_command"; unset runyard_command; eval "set --; $1"'`,
  )
  .join('\n  ')

/**
 * Runs the command of an exec: `$1` its directory, `$runyard_command` its script, which stands in no arguments: `pkill -f` would
 * meet it there, and end the command that calls it. Started under `docker-init -s`, to which everything the command orphans
 * falls, so the tree stays whole.
 */
export const RUN_SCRIPT = `
  umask 022
  ulimit -c 0
  cd -- "$1" || exit 126
  ${BECOME}`

/**
 * Runs one command after another: a slot. Started like the script above, with a line end as `$1`. It says `r` when it is
 * ready. Of each command it reads
 * two lines, `MODE END BEGIN` and what `makeRequest` makes, says BEGIN, and waits for the line `go`: whoever gave the command up
 * meanwhile, the sandbox being frozen, sends none. It says how the command ended behind END on both outputs, once nothing of it is
 * left. Where something is, or that cannot be told, it ends like the command, as does MODE `once`, which leaves the rest
 * of the input to the command. Its own standard error is nowhere: shells say there by which signal a command ended.
 * Whatever a command orphans falls to the slot's parent, or to the process whose number is `$2`: a child of that one which was
 * not there before the command is taken for what the command left.
 * Each command opens the outputs again, where the engine allows it: what it sets on them, not to block for one thing, is its
 * own. Signals that a command sends to its process group are not for the slot.
 */
export const SLOT_SCRIPT = `
trap : HUP INT QUIT USR1 USR2 PIPE ALRM TERM
exec 4>&2 2>/dev/null
runyard_opens=''
(exec > /proc/self/fd/1 2> /proc/self/fd/4) && runyard_opens=yes
runyard_go() {
  if [ "$runyard_opens" ]; then exec > /proc/self/fd/1 2> /proc/self/fd/4 4>&-; else exec 2>&4 4>&-; fi
  export runyard_command="$2"
  umask 022
  ulimit -c 0
  cd -- "$1" || exit 126
  ${BECOME}
}
runyard_reaper=$2
runyard_parent=\${2:-$PPID}
runyard_orphans() {
  runyard_left=''
  read -r runyard_left < /proc/$runyard_parent/task/$runyard_parent/children
}
runyard_fresh() {
  for runyard_one in $runyard_left; do
    case " $$ $runyard_before " in *" $runyard_one "*) ;; *) return 0 ;; esac
  done
  return 1
}
runyard_alone() {
  for runyard_try in 1 2 3 4 5 6 7 8 9; do
    runyard_orphans
    [ "$runyard_left" ] || [ "$runyard_reaper" ] || continue
    [ -e /proc/$runyard_parent/task/$runyard_parent/children ] || return 1
    runyard_fresh && continue
    runyard_left=''
    read -r runyard_left < /proc/$$/task/$$/children
    [ "$runyard_left" ] || return 0
  done
  return 1
}
printf r
while read -r runyard_mode runyard_end runyard_begin && IFS= read -r runyard_line; do
  printf '\\036%s' "$runyard_begin"
  read -r runyard_may && [ "$runyard_may" = go ] || exit
  if [ "$runyard_mode" = once ]; then trap - HUP INT QUIT USR1 USR2 PIPE ALRM TERM; eval "$runyard_line"; fi
  runyard_orphans
  runyard_before=$runyard_left
  (eval "$runyard_line") < /dev/null
  runyard_code=$?
  runyard_line=''
  runyard_alone || exit "$runyard_code"
  printf '\\036%s%s\\n' "$runyard_end" "$runyard_code"
  printf '\\036%s%s\\n' "$runyard_end" "$runyard_code" >&4
done`

/**
 * Kills one exec's whole tree: the processes with \`RUNYARD_EXEC=$1\` in their environment and all their descendants.
 * They are stopped first, round by round until none is new, so nothing forks away while the list is made.
 */
export const KILL_EXEC_SCRIPT = `
known=' '
while :; do
  fresh=''
  for file in $(grep -lsF -- "RUNYARD_EXEC=$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}; pid=\${pid%%/*}
    case $known in *" $pid "*) ;; *) known="$known$pid "; fresh="$fresh $pid" ;; esac
  done
  grown=yes
  while [ "$grown" ]; do
    grown=''
    for line in $(grep -s '^PPid:' /proc/[0-9]*/status | tr -d '\\t'); do
      pid=\${line#/proc/}; pid=\${pid%%/*}; parent=\${line##*:}
      case $known in *" $parent "*) ;; *) continue ;; esac
      case $known in *" $pid "*) ;; *) known="$known$pid "; fresh="$fresh $pid"; grown=yes ;; esac
    done
  done
  [ "$fresh" ] || break
  kill -STOP $fresh 2>/dev/null
done
kill -KILL $known 2>/dev/null
exit 0`

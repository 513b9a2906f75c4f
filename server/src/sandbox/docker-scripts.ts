/**
 * Runs the command of an exec: `$1` its directory, `$2` its script. Started under `docker-init -s`, to which everything
 * the command orphans falls, so the tree stays whole.
 */
export const RUN_SCRIPT = `
umask 022
ulimit -c 0
cd -- "$1" || exit 126
[ -x /bin/bash ] && exec /bin/bash -c "$2"
exec /bin/sh -c "$2"`

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

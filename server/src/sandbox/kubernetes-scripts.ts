/**
 * What runs in a sandbox's Pod beside its commands, all in the image's own shell. Kubernetes starts every process of a container
 * as one user, so the files in the guard's folder are the sandbox user's too: an agent that writes them harms its own run only.
 */

/** The folder of a Pod that says who may start commands in it. */
export const GUARD = '/.runyard'
/** `ATTEMPT OWNER`: whoever starts a process knows the owner's secret, or it ends with `FENCED`. */
const OWNER_FILE = `${GUARD}/owner`
/** While this file is there nothing is started. */
const FROZEN_FILE = `${GUARD}/frozen`
/** Exit code: another attempt owns the sandbox, or nobody does until it is attached again. */
export const FENCED = 75
/** Exit codes of the step that prepares a Pod. */
export const OPEN_NETWORK = 90
export const NO_PROBE = 91

/**
 * The first step of a Pod: makes the folders that its container mounts, the user's account beside the image's, and proves that the
 * network is closed. `$1` folder, `$2` user, `$3` the file of the guard, `$4` names of folders of the workspace, `$5` its
 * network, `$6` seconds until that must be closed where it is `none`: the API server is not reached any more then, which
 * every cluster has and all Pods reach that no policy selects.
 */
export const PREPARE_SCRIPT = `
set -e
umask 022
fail() { echo "$2" > /dev/termination-log 2>/dev/null || :; exit "$1"; }
cd -- "$1"
[ -e workspace ] || mkdir workspace home guard accounts
for name in $4; do mkdir -p -- "workspace/$name"; done
printf '[user]\\n\\tname = Runyard agent\\n\\temail = agent@runyard.invalid\\n' > home/.gitconfig
shell=/bin/sh; [ ! -x /bin/bash ] || shell=/bin/bash
{ echo "agent:x:$2:$2:agent:/home/agent:$shell"; cat /etc/passwd 2>/dev/null || :; } > accounts/passwd
{ echo "agent:x:$2:"; cat /etc/group 2>/dev/null || :; } > accounts/group
[ -e guard/owner ] || echo "$3" > guard/owner
[ "$5" = none ] || exit 0
host=$KUBERNETES_SERVICE_HOST
port=$KUBERNETES_SERVICE_PORT
limit() { if command -v timeout > /dev/null; then timeout "$@"; else shift; "$@"; fi; }
if [ -x /bin/bash ]; then reach() { limit 1 /bin/bash -c 'exec 3<>"/dev/tcp/$1/$2"' bash "$1" "$2"; }
elif command -v nc > /dev/null; then reach() { limit 1 nc -z -w 1 "$1" "$2"; }
elif command -v perl > /dev/null; then reach() { limit 1 perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => $ARGV[1], Timeout => 1)' "$1" "$2"; }
elif command -v python3 > /dev/null; then reach() { limit 2 python3 -c 'import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 1)' "$1" "$2"; }
else fail ${NO_PROBE} 'The image has none of bash, nc, perl and python3, so nothing can show that its network is closed'
fi
tries=$(($6 * 5))
while reach "$host" "$port" > /dev/null 2>&1; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || fail ${OPEN_NETWORK} "The Pod still reached $host:$port after $6 s"
  sleep 0.2
done
exit 0`

/**
 * The first process of the container. Nothing inside can end it: the kernel keeps signals of its own namespace from it. What
 * commands orphan falls to it, and goes at once when it ends since the signal of that is ignored. It needs no process of its own
 * to wait.
 */
export const STAY_SCRIPT = `
trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM CHLD
while :; do read -r runyard_line || sleep 3600; done`

/**
 * Begins every process of commands: `$1` the owner's secret, `$2` its marker, `$3` the most processes of the user, `$4` the
 * script that goes on, which has a line end as `$1` and the number of the process that orphans fall to as `$2`. When it has
 * ended the marker comes on standard output, and input that is left is read until its end: the kubelet would break the connection
 * while there is any, and not say how the process ended.
 */
export const ENTER_SCRIPT = `
while [ -e ${FROZEN_FILE} ]; do sleep 0.1; done
read -r runyard_attempt runyard_owner < ${OWNER_FILE}
[ "$runyard_owner" = "$1" ] || exit ${FENCED}
if (ulimit -u "$3") 2>/dev/null; then ulimit -u "$3"; else ulimit -p "$3" 2>/dev/null; fi
SHELL=/bin/sh; [ ! -x /bin/bash ] || SHELL=/bin/bash
export SHELL
RUNYARD_EXEC=$2 /bin/sh -c "$4" sh '
' 1
runyard_code=$?
printf '\\036%s' "$2"
cat > /dev/null 2>&1
exit "$runyard_code"`

/** `$1` an attempt: ends with `FENCED` where a later one owns the sandbox. */
const UNLESS_LATER = `
read -r runyard_attempt runyard_owner < ${OWNER_FILE} || runyard_attempt=0
[ "$runyard_attempt" -le "$1" ] || exit ${FENCED}`

/** Kills all but process 1 and itself, and waits until what there was is gone. */
const KILL_ALL = `
runyard_before=$(echo /proc/[0-9]*)
kill -KILL -1 2>/dev/null
runyard_tries=100
while [ "$runyard_tries" -gt 0 ]; do
  runyard_left=''
  for runyard_path in $runyard_before; do
    case $runyard_path in /proc/1 | /proc/$$) continue ;; esac
    runyard_line=''
    { IFS= read -r runyard_line < "$runyard_path/cmdline"; } 2>/dev/null
    [ -z "$runyard_line" ] || runyard_left=yes
  done
  [ "$runyard_left" ] || exit 0
  runyard_tries=$((runyard_tries - 1))
  sleep 0.02
done
exit 1`

/** Kills all, for whoever knows the owner's secret, `$1`. */
export const KILL_ALL_SCRIPT = `
read -r runyard_attempt runyard_owner < ${OWNER_FILE}
[ "$runyard_owner" = "$1" ] || exit ${FENCED}
${KILL_ALL}`

/**
 * Makes `$2` the secret of the sandbox's owner, of attempt `$1`, and kills all: a process that an earlier owner starts later ends
 * by itself, and one that passed the guard before is killed here.
 */
export const CLAIM_SCRIPT = `${UNLESS_LATER}
echo "$1 $2" > ${GUARD}/new.$$ && mv -f ${GUARD}/new.$$ ${OWNER_FILE} && rm -f ${FROZEN_FILE} || exit 1
${KILL_ALL}`

/** Stops all of it, for `$1` or a later attempt. */
export const FREEZE_SCRIPT = `${UNLESS_LATER}
: > ${FROZEN_FILE} || exit 1
kill -STOP -1 2>/dev/null
exit 0`

export const THAW_SCRIPT = `${UNLESS_LATER}
rm -f ${FROZEN_FILE}
kill -CONT -1 2>/dev/null
exit 0`

/** Exit code 0: it is frozen. */
export const IS_FROZEN_SCRIPT = `[ -e ${FROZEN_FILE} ]`

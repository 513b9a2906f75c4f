#!/bin/sh
# Makes a real Kubernetes cluster usable for the sandbox tests and prints the path of its kubeconfig. Takes the cluster of
# RUNYARD_TEST_KUBECONFIG where that is set: it must have the image runyard-test:1. Otherwise, as root on Debian, starts one
# node in namespaces of its own (test/kubernetes). The first time its binaries are built, which takes eight minutes; they are
# kept in RK8S_HOME, by default ~/.cache/runyard-kubernetes. Exits 1 saying what is missing.
set -eu
if [ -n "${RUNYARD_TEST_KUBECONFIG:-}" ]; then
  echo "$RUNYARD_TEST_KUBECONFIG"
  exit 0
fi
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo 'a cluster of its own needs root' >&2; exit 1; }
command -v go >/dev/null || { echo 'a cluster of its own is built by Go, which is not installed' >&2; exit 1; }
"$here/test-docker.sh" >/dev/null
home=${RK8S_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/runyard-kubernetes}
mkdir -p "$home/images"
archive=$home/images/runyard-test.tar
if [ ! -s "$archive" ]; then
  docker save runyard-test:1 -o "$archive.new"
  mv "$archive.new" "$archive"
fi
told=$("$here/../test/kubernetes/up.sh" 2>"$home/up.log") || { tail -n 3 "$home/up.log" >&2; exit 1; }
echo "$told" | sed -n 's/^KUBECONFIG=//p'

#!/bin/sh
# Makes Docker usable for the sandbox tests: an engine that answers and the image `runyard-test:1`. Does nothing when
# both are there. Otherwise, as root: starts dockerd (it stays; log in $TMPDIR/dockerd.log) and builds the image without
# a registry, a minimal Debian with git and the Node that runs the tests (40 s, needs debootstrap). As another user: takes
# the engine that is there and pulls the default image. Exits 1 saying what is missing.
set -eu
image=runyard-test:1

if ! docker info >/dev/null 2>&1; then
  if [ "$(id -u)" -ne 0 ] || ! command -v dockerd >/dev/null; then
    echo 'no Docker engine answers' >&2
    exit 1
  fi
  log=${TMPDIR:-/tmp}/dockerd.log
  # Never a second daemon: one that is starting up gets the time to answer.
  pidof dockerd >/dev/null || setsid nohup dockerd >"$log" 2>&1 </dev/null &
  tries=0
  until docker info >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "dockerd does not answer, see $log" >&2; exit 1; }
    sleep 0.2
  done
fi

docker image inspect "$image" >/dev/null 2>&1 && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  docker pull -q node:24-bookworm >/dev/null && exec docker tag node:24-bookworm "$image"
fi

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
. /etc/os-release
debootstrap --variant=minbase --include=git,ca-certificates "${VERSION_CODENAME:-stable}" "$root/image" \
  >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; exit 1; }
rm -rf "$root"/image/var/cache/apt/* "$root"/image/var/lib/apt/lists/*
cp "$(node -p process.execPath)" "$root/image/usr/local/bin/node"
tar -C "$root/image" -c . | docker import - "$image" >/dev/null

#!/bin/sh
# Makes the container image the sandbox tests use, `runyard-test:1`, without a registry: a minimal Debian with git and
# the Node these tests run on.
# Does nothing when it is there. Needs root, a running Docker engine and debootstrap (setup-debian.sh docker).
set -eu
image=${1:-runyard-test:1}

docker image inspect "$image" >/dev/null 2>&1 && exit 0

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
. /etc/os-release
debootstrap --variant=minbase --include=git,ca-certificates "${VERSION_CODENAME:-stable}" "$root/image" >"$root/log" 2>&1 || {
  tail -n 20 "$root/log" >&2
  exit 1
}
rm -rf "$root"/image/var/cache/apt/*.deb "$root"/image/var/cache/apt/archives/*.deb "$root"/image/var/lib/apt/lists/*
node=$(node -p process.execPath)
cp "$node" "$root/image/usr/local/bin/node"
tar -C "$root/image" -c . | docker import - "$image" >/dev/null
echo "made $image" >&2

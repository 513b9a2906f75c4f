#!/bin/sh
# Makes the image of that name, a minimal Debian with apt, without a registry: as root, by debootstrap (40 s). Does nothing when it is
# there. Exits 1 saying what is missing.
set -eu
"$(dirname "$0")/test-docker.sh" >/dev/null
docker image inspect "$1" >/dev/null 2>&1 && exit 0
[ "$(id -u)" -eq 0 ] || { echo 'an image of Debian is made as root' >&2; exit 1; }
command -v debootstrap >/dev/null || { echo 'debootstrap is not installed' >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
. /etc/os-release
suite=${VERSION_CODENAME:-stable}
debootstrap --variant=minbase "$suite" "$root/image" >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; exit 1; }
for part in "$suite-updates main" "$suite-security main"; do
  archive=debian
  case $part in *-security*) archive=debian-security ;; esac
  echo "deb http://deb.debian.org/$archive $part" >>"$root/image/etc/apt/sources.list"
done
# Authorities that this machine trusts beside Debian's: a network may have one of its own.
if [ -d /usr/local/share/ca-certificates ]; then cp -r /usr/local/share/ca-certificates "$root/image/usr/local/share/"; fi
# As in Debian's slim images: no documentation, no translations.
rm -rf "$root"/image/var/cache/apt/* "$root"/image/var/lib/apt/lists/* "$root"/image/usr/share/doc/* "$root"/image/usr/share/man/* \
  "$root"/image/usr/share/locale/*
printf 'path-exclude /usr/share/%s/*\n' doc man locale >"$root/image/etc/dpkg/dpkg.cfg.d/docker"
tar -C "$root/image" -c . | docker import - "$1" >/dev/null

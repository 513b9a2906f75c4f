#!/bin/sh
# Installs system packages on Debian and Ubuntu by group: scripts/setup-debian.sh sandbox docker postgres browser python lfs go keyring
# Quiet and fast when nothing is missing. Not root: prints the line to run and exits 1.
set -eu

has() { command -v "$1" >/dev/null; }

# Debian's python3 has `venv` without the `ensurepip` it needs.
can_make_venv() { python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }

# Programs that came another way (docker-ce, a vendor's browser) are not installed a second time.
packages_of() {
  case $1 in
    sandbox) echo 'bubblewrap git slirp4netns socat util-linux' ;;
    docker) if has dockerd; then echo debootstrap; else echo 'docker.io debootstrap'; fi ;;
    postgres) echo 'postgresql' ;;
    lfs) echo 'git-lfs' ;;
    # Chromium without windows: what Playwright starts by itself too, and half the work of a whole one.
    browser) has chromium || has google-chrome || has chromium-headless-shell || echo chromium-headless-shell ;;
    go) has go || echo golang-go ;;
    keyring) echo 'gnome-keyring dbus-daemon' ;;
    python) can_make_venv || echo 'python3 python3-venv' ;;
    *)
      echo "setup-debian.sh: unknown group '$1'; known: sandbox docker postgres browser python lfs go keyring" >&2
      exit 2
      ;;
  esac
}

wanted=''
for group in "$@"; do
  packages=$(packages_of "$group")
  wanted="$wanted $packages"
done
[ -n "$wanted" ] || exit 0

# One query for all; a package dpkg never heard of prints nothing.
# shellcheck disable=SC2086 # the words of $wanted are the packages
installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null || true)
missing=''
for package in $wanted; do
  case "
$installed
" in
    *"
$package installed
"*) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -ne 0 ]; then
  echo "Missing:$missing. Run: sudo $line" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
# Another apt may hold its lock: wait for it instead of failing.
apt_get() { apt-get -o DPkg::Lock::Timeout=120 "$@" </dev/null; }
echo "Installing:$missing" >&2
for try in 1 2 3 4 5; do
  # The lock of the package lists is not covered by the timeout above.
  if apt_get update -qq; then break; fi
  [ "$try" -lt 5 ] || { echo "apt-get update failed; then run: $line" >&2; exit 1; }
  sleep 3
done
# shellcheck disable=SC2086
apt_get install -y -qq --no-install-recommends $missing

#!/bin/sh
# In the build of the image: fetches what packages.txt names for this architecture, checks it, and puts it in its place. Each line is
# an architecture or "any", the SHA-512, the path in the registry, and the folder.
set -eu
architecture=$(dpkg --print-architecture)
while read -r for sum path folder; do
  case $for in any | "$architecture") ;; *) continue ;; esac
  curl --fail --silent --show-error --location --retry 5 --output /tmp/package.tgz "$REGISTRY/$path"
  echo "$sum  /tmp/package.tgz" | sha512sum --check --quiet
  mkdir -p "$folder"
  tar --extract --gzip --file /tmp/package.tgz --directory "$folder" --strip-components 1 --no-same-owner
done </tmp/packages.txt
# For compiling add-ons, and for editors.
rm -rf node_modules/node-linux-*/include node_modules/node-linux-*/share node_modules/@types
ls node_modules/node-linux-*/bin/node >/dev/null || { echo "There is no Node for $architecture." >&2; exit 1; }

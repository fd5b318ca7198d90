#!/usr/bin/env bash
# Puts kubectl-tidb into a folder, and the folder on the PATH of the steps after this one.
#
#   PROGRAM   a program that is there, such as one that an earlier step has built; or
#   VERSION   a release, e.g. v1.2.3, whose archive is compared with the sums of the release
#   BASE      where releases are
set -euo pipefail
bin=${RUNNER_TEMP:?}/kubectl-tidb-bin
mkdir -p "$bin"
if [ -n "${PROGRAM:-}" ]; then
  [ -x "$PROGRAM" ] || { echo "::error title=kubectl tidb::there is no program $PROGRAM"; exit 2; }
  install -m 755 "$PROGRAM" "$bin/kubectl-tidb"
else
  [ -n "${VERSION:-}" ] || { echo "::error title=kubectl tidb::give version or program"; exit 2; }
  os=$(uname -s | tr '[:upper:]' '[:lower:]')
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) echo "::error title=kubectl tidb::there is no release for $(uname -m)"; exit 2 ;;
  esac
  # As .goreleaser.yaml names it, which a test compares.
  archive=kubectl-tidb_v${VERSION#v}_${os}_$arch.tar.gz
  from=${BASE:-https://github.com/kubectl-tidb/kubectl-tidb/releases/download}/$VERSION
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  for file in checksums.txt "$archive"; do
    curl -fsSL --retry 3 -o "$work/$file" "$from/$file" || { echo "::error title=kubectl tidb::cannot get $from/$file"; exit 1; }
  done
  sum=(sha256sum)
  command -v sha256sum > /dev/null || sum=(shasum -a 256) # macOS
  (cd "$work" && grep -F " $archive" checksums.txt | "${sum[@]}" -c -) || { echo "::error title=kubectl tidb::the sum of $archive is not that of the release"; exit 1; }
  tar -xzf "$work/$archive" -C "$bin" kubectl-tidb
fi
echo "$bin" >> "$GITHUB_PATH"

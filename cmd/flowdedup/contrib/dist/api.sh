#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the exported API with that of the last release (the last tag). What breaks users
# needs a new major version, before 1.0 a new minor one: the file version beside this script
# names the version that comes next.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(git -C "$here" rev-parse --show-toplevel)
cd "$top"
last=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || {
	echo "skipped: there is no release to compare the API with"
	exit 0
}
work=$(mktemp -d)
trap 'git worktree remove --force "$work/last" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
git worktree add -q --detach "$work/last" "$last"
apidiff() { go tool -modfile="$here/go.mod" apidiff "$@" 2>"$work/messages" || { cat "$work/messages" >&2; exit 1; }; }
(cd "$work/last" && apidiff -m -w "$work/last.api" github.com/flowdedup/flowdedup)
apidiff -m -incompatible "$work/last.api" github.com/flowdedup/flowdedup >"$work/changes"
if ! [ -s "$work/changes" ]; then
	echo "the API of $last still works"
	exit 0
fi
cat "$work/changes"
# part N of a version: 1 the major, 2 the minor number
part() { echo "${1#v}" | cut -d. -f"$2"; }
next=$(cat "$here/version")
if [ "$(part "$next" 1)" -gt "$(part "$last" 1)" ] || { [ "$(part "$last" 1)" = 0 ] && [ "$(part "$next" 2)" -gt "$(part "$last" 2)" ]; }; then
	echo "the next version, $next, says so"
	exit 0
fi
echo "these changes break users of $last, and $here/version says that $next comes next" >&2
exit 1

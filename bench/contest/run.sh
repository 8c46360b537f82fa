#!/usr/bin/env bash
# Builds flowdedup, gopackets and the contest, and runs it. Arguments go to contest run.
# Captures lie in memory where there is /dev/shm.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/" ./bench/contest ./cmd/flowdedup
(cd bench/peers && go build -o "$bin/" ./gopackets)
[ -n "${TMPDIR:-}" ] || ! [ -d /dev/shm ] || export TMPDIR=/dev/shm
PATH="$bin:$PATH" contest run "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds flowdedup, gopackets and the contest, and runs it. Arguments go to contest run.
# Captures lie in memory where there is /dev/shm.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/" ./bench/contest ./cmd/flowdedup
(cd bench/peers && go build -o "$bin/" ./gopackets)
[ -n "${TMPDIR:-}" ] || ! [ -d /dev/shm ] || export TMPDIR=/dev/shm
revision=$(git log -1 --format='commit %h of %cs' 2>/dev/null) || revision=
machine="$(uname -sm), $(nproc) threads, CPU \"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)\", load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null) before"
PATH="$bin:$PATH" contest run -revision "$revision" -machine "$machine" "$@"

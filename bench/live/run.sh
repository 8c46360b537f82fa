#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what bench/live measures, installs the tools beside it that are missing if
# that is possible, and measures, as root. Arguments go to live.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in tcpdump dumpcap; do
	command -v "$tool" >/dev/null && continue
	{ apt-get update && apt-get install -y --no-install-recommends tcpdump wireshark-common; } >&2 ||
		echo "cannot install $tool" >&2
	break
done
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/" ./bench/live ./bench/live/barering ./cmd/flowdedup
(cd bench/peers && go build -o "$bin/" ./gopackets)
cc -O3 -march=native -o "$bin/bare" bench/live/bare/bare.c || echo "cannot compile bare.c" >&2
PATH="$bin:$PATH" live "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what bench/pipeline measures, installs the tools beside it that are missing
# if that is possible, and measures. Arguments go to pipeline.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in editcap tshark tcpdump nfpcapd nfdump; do
	command -v "$tool" >/dev/null && continue
	{ apt-get update && apt-get install -y --no-install-recommends wireshark-common tshark tcpdump nfdump; } >&2 ||
		echo "cannot install $tool" >&2
	break
done
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/" ./bench/pipeline ./cmd/flowdedup ./bench/workload/cmd/genworkload
(cd bench/peers && go build -o "$bin/" ./gopackets)
cc -O3 -march=native -pthread -o "$bin/bare" bench/pipeline/bare/bare.c || echo "cannot compile bare.c" >&2
PATH="$bin:$PATH" pipeline "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: netsniff-ng copies or filters a pcap file of either byte order: a file of a big-endian machine becomes a file
#        of the same order, or of this machine's.
# Is:    on a little-endian machine it ends with 0 and writes a file that no program opens, itself neither: all
#        is big-endian, the link type alone is not, so that Ethernet (1) becomes link type 16777216.
# Why:   captures of switches, routers and old appliances are big-endian. Whoever filters such a capture,
#        and keeps the result alone, has bytes that only an editor makes a capture again.
set -euo pipefail
version=0.6.8-3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q netsniff-ng=$version libpcap0.8 libdbus-1-3 libgeoip1 libnl-3-200 libnl-genl-3-200 libnl-route-3-200 >/dev/null 2>&1 || { echo "netsniff-ng $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH

# copy ORDER prints how the copy of a capture of two frames begins, and what netsniff-ng says when it reads the copy.
copy() {
	rm -f out.pcap
	python3 - "$1" <<'PY'
import struct, sys
frame = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes(46)
with open('in.pcap', 'wb') as f:
    f.write(struct.pack(sys.argv[1] + 'IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n in range(2):
        f.write(struct.pack(sys.argv[1] + 'IIII', 1700000000, n, len(frame), len(frame)) + frame)
PY
	usr/sbin/netsniff-ng --in in.pcap --out out.pcap --silent >/dev/null 2>&1
	echo "exit code $?, magic $(head -c 4 out.pcap | od -An -tx1 | tr -d ' ') link type $(tail -c +21 out.pcap | head -c 4 | od -An -tx1 | tr -d ' ')," \
		"read again: $(usr/sbin/netsniff-ng --in out.pcap --out again.pcap --silent 2>&1 | grep -oE '[0-9]+ packets outgoing|unsupported.*' | head -1)"
}

little=$(copy '<') big=$(copy '>')
echo "netsniff-ng $version, copy of a little-endian file: $little; of a big-endian file: $big"
case $(uname -m) in x86_64 | aarch64 | riscv64) ;; *) echo "this machine may be big-endian"; exit 2 ;; esac
[ "$little" = 'exit code 0, magic d4c3b2a1 link type 01000000, read again: 2 packets outgoing' ]
[ "$big" = 'exit code 0, magic a1b2c3d4 link type 01000000, read again: unsupported pcap link type (16777216)!' ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: editcap -w 0.001 removes a packet if an equal one was kept in the millisecond before it.
# Is:    a removed packet extends the time. Of a frame that comes each 0.9 ms, 999 of 1,000 go,
#        over 0.9 s. With 1.1 ms between them all stay.
# Why:   beacons and keep-alives that come a little faster than the window vanish for ever.
set -euo pipefail
version=4.0.17-0+deb12u3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q wireshark-common=$version libwiretap13=$version libwsutil14=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu)

# capture FILE GAP writes 1,000 equal ARP requests, GAP microseconds apart.
capture() {
	python3 - "$@" <<'PY'
import struct, sys
arp = b'\xff' * 6 + bytes.fromhex('020000000001' '0806' '0001080006040001' '020000000001') + bytes([10, 0, 0, 1]) + bytes(6) + bytes([10, 0, 0, 2]) + bytes(18)
with open(sys.argv[1], 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(1000):
        t = i * int(sys.argv[2])
        f.write(struct.pack('<IIII', 1700000000 + t // 10**6, t % 10**6, len(arp), len(arp)) + arp)
PY
}

capture faster 900
capture slower 1100
skipped() { usr/bin/editcap -w 0.001 "$1" out.pcap 2>&1 | sed -nE 's/.*, ([0-9]+) packets? skipped.*/\1/p'; }
faster=$(skipped faster) slower=$(skipped slower)
echo "editcap $version: of 1,000 frames each 0.9 ms $faster removed, each 1.1 ms $slower"
[ "$faster $slower" = "999 0" ]

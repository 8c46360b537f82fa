#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: editcap -d keeps packets that had different lengths on the wire.
# Is:    it compares the captured bytes alone, and removes the second one.
# Why:   with a snap length, packets of one flow begin alike: different packets are lost.
set -euo pipefail
version=4.0.17-0+deb12u3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q wireshark-common=$version libwiretap13=$version libwsutil14=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu)

# Two frames of a protocol without IP, 200 and 1,200 bytes on the wire, of which 60 were captured.
python3 - <<'PY'
import struct
start = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes(46)
with open('cut', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 60, 1))
    for microsecond, wire in ((0, 200), (100, 1200)):
        f.write(struct.pack('<IIII', 1700000000, microsecond, len(start), wire) + start)
PY
removed=$(usr/bin/editcap -d cut out.pcap 2>&1 | sed -nE 's/.*, ([0-9]+) packets? skipped.*/\1/p')
echo "editcap $version: of two frames with 200 and 1,200 bytes on the wire $removed removed"
[ "$removed" = 1 ]

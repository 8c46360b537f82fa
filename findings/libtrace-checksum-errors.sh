#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: "IP Checksum errors" of tracereport -e is how many IPv4 packets have a wrong header checksum.
# Is:    it is how many have a checksum that is not 0: all right ones count, and all wrong ones. Packets that
#        a host left to its network card, with an empty checksum, are no errors.
# Why:   a sound capture looks wholly damaged, and a capture that was made at the sender looks sound. Who drops
#        captures with many errors drops them all.
set -euo pipefail
version=3.0.22-0.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libtrace-tools=$version libtrace3=$version libpacketdump3=$version libwandio1 libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=usr/lib:$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH

# errors KIND prints how many errors tracereport finds in ten packets whose checksums are right, wrong or empty.
errors() {
	python3 - "$1" <<'PY'
import struct, sys
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n in range(10):
        h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 46, n, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
        total = sum(struct.unpack('>10H', h))
        total = (total & 0xffff) + (total >> 16)
        right = ~((total & 0xffff) + (total >> 16)) & 0xffff
        h = h[:10] + struct.pack('>H', {'right': right, 'wrong': right ^ 0x55, 'empty': 0}[sys.argv[1]]) + h[12:]
        frame = bytes.fromhex('020000000002' '020000000001' '0800') + h + struct.pack('>HHHH', 1000, 2000, 26, 0) + bytes(18)
        f.write(struct.pack('<IIII', 1700000000, n, len(frame), len(frame)) + frame)
PY
	usr/bin/tracereport -e pcapfile:in.pcap >/dev/null 2>&1
	sed -n 's/^IP Checksum errors: //p' error.rpt
}

seen="right $(errors right), wrong $(errors wrong), empty $(errors empty)"
echo "tracereport $version, errors in ten packets whose IPv4 checksums are: $seen"
[ "$seen" = 'right 10, wrong 10, empty 0' ]

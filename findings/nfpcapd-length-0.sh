#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a TCP segment that the sender leaves to its network card, and whose IPv4 header therefore
#        states a length of 0, counts with the bytes that the frame has.
# Is:    nfpcapd counts the packet with 0 bytes. (tshark, tcpdump and gopacket read it to the end.)
# Why:   on the host that sends them, the largest transfers have no bytes; a comparison with the
#        records of a router finds no equal totals.
set -euo pipefail
version=1.7.1-2+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q nfdump=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

# counted LENGTH prints packets and bytes of a flow of three segments with 3,000 bytes of payload.
# LENGTH is what their IPv4 headers state.
counted() {
	python3 - "$1" <<'PY'
import struct, sys
segment = struct.pack('>HHIIBBHHH', 1000, 443, 5, 77, 0x50, 0x18, 500, 0, 0) + b'x' * 3000
ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, int(sys.argv[1]), 1, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
total = sum(struct.unpack('>10H', ip))
total = (total & 0xffff) + (total >> 16)
ip = ip[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]
frame = bytes.fromhex('020000000002' '020000000001' '0800') + ip + segment
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(3):
        f.write(struct.pack('<IIII', 1700000000, i * 1000, len(frame), len(frame)) + frame)
PY
	rm -rf flows && mkdir flows
	usr/bin/nfpcapd -r in.pcap -l flows >/dev/null 2>&1
	usr/bin/nfdump -q -R flows -o 'fmt:%pkt %byt' 2>/dev/null | awk '{print $1 " packets " $2 " bytes"}'
}

stated=$(counted 3040) left=$(counted 0)
echo "nfpcapd $version: with the length stated $stated; with 0 $left"
[ "$stated, $left" = "3 packets 9120 bytes, 3 packets 0 bytes" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: nfdump -s port counts the flows, packets and bytes of each port, from or to it. A flow between
#        equal ports is a flow of this port.
# Is:    it counts such a flow twice, with all of its packets and bytes: a file of a flow from port 123 to
#        port 123 has 2 flows of port 123, "200.0 %". The same holds for -s ip and -s as.
# Why:   NTP, IKE and NetBIOS talk between equal ports, and a provider's own flows stay in its AS. Their
#        shares look twice as large as others, as if each flow came with a copy.
set -euo pipefail
version=1.7.1-2+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q nfdump=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

# flows PORT prints flows, packets and bytes of port 123, and their shares, of a flow from PORT to port 123.
flows() {
	python3 - "$1" <<'PY'
import struct, sys
udp = struct.pack('>HHHH', int(sys.argv[1]), 123, 8 + 48, 0) + bytes(48)
h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
total = sum(struct.unpack('>10H', h))
total = (total & 0xffff) + (total >> 16)
p = bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:] + udp
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(5):
        f.write(struct.pack('<IIII', 1700000000 + i, 0, len(p), len(p)) + p)
PY
	rm -rf flows && mkdir flows
	usr/bin/nfpcapd -r in.pcap -l flows >/dev/null 2>&1
	usr/bin/nfdump -R flows -q -s port/flows 2>/dev/null | tr -s '( ' ' ' | awk '$5 == 123 { print $6, "flows (" $7, $8, "packets (" $9, $10, "bytes (" $11 }'
}

seen="from port 40000 $(flows 40000), from port 123 $(flows 123)"
echo "nfdump $version: port 123 of a flow $seen"
[ "$seen" = "from port 40000 1 flows (100.0) 5 packets (100.0) 380 bytes (100.0), from port 123 2 flows (200.0) 10 packets (200.0) 760 bytes (200.0)" ]

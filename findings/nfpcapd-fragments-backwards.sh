#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: nfpcapd counts the fragments of a datagram in any order: they are IPv4 packets with addresses
#        and lengths.
# Is:    if the last fragment comes before the first, there is no record at all, of any fragment, as if
#        the datagram had never been, and "skipped: 0". In each other order there is a record.
# Why:   two paths are enough, or a sender that begins at the end, as old Linux does. One tap counts a
#        flow that the other has not seen, and no counter says so.
set -euo pipefail
version=1.7.1-2+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q nfdump=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

# records ORDER prints packets and bytes of the records of a datagram's three fragments in an order.
records() {
	python3 - "$1" <<'PY'
import struct, sys
datagram = struct.pack('>HHHH', 4000, 5000, 8 + 4000, 0) + bytes(4000)
def fragment(i):
    data = datagram[1480 * i:1480 * (i + 1)]
    h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(data), 9, (0x2000 if i < 2 else 0) | 185 * i, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:] + data
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n, i in enumerate(sys.argv[1]):
        p = fragment(int(i))
        f.write(struct.pack('<IIII', 1700000000, n * 1000, len(p), len(p)) + p)
PY
	rm -rf flows && mkdir flows
	usr/bin/nfpcapd -r in.pcap -l flows >/dev/null 2>&1
	usr/bin/nfdump -q -R flows -o 'fmt:%pkt %byt' 2>/dev/null | tr -s ' ' | xargs
}

seen=$(for order in 012 102 021 120 201 210; do echo "$order: $(records $order); "; done | xargs)
echo "nfpcapd $version: packets and bytes by order of the fragments: $seen"
[ "$seen" = "012: 1 4028; 102: 1 4028; 021: 1 4028; 120: No matching flows; 201: No matching flows; 210: No matching flows;" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: of a connection that sends 100 bytes in one segment, seen twice by a mirror, tcptrace -l says that 200 bytes of
#        data were sent in 2 segments, of which 100 bytes in 1 segment are a retransmission.
# Is:    102 bytes in 3 segments are. SYN and FIN, which carry no data and take a number each, count as a byte
#        if they are repeated, and only then: "actual data" does not have them. More is repeated than was sent twice.
# Why:   a connection of which only the handshake came twice has retransmitted data, though it sent each byte
#        once. In short connections most of the "data" that a mirror repeats are none.
set -euo pipefail
version=6.6.7-6+b1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q tcptrace=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "tcptrace $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH

# counts SEGMENTS prints actual and repeated data of a connection of which these segments came twice.
counts() {
	python3 - "$1" <<'PY'
import struct, sys
def checksum(b):
    total = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    total = (total & 0xffff) + (total >> 16)
    return struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff)
def segment(back, sequence, acknowledged, flags, data=b''):
    ends = bytes([10, 0, 0, 2, 10, 0, 0, 1] if back else [10, 0, 0, 1, 10, 0, 0, 2])
    ports = (80, 4000) if back else (4000, 80)
    t = struct.pack('>HHIIBBHHH', *ports, sequence, acknowledged, 0x50, flags, 1000, 0, 0) + data
    t = t[:16] + checksum(ends + struct.pack('>HH', 6, len(t)) + t) + t[18:]
    h = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(t), 9, 0x4000, 64, 6, 0) + ends
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + checksum(h) + h[12:] + t
segments = {'SYN': segment(0, 100, 0, 2), 'SYN2': segment(1, 500, 101, 18), 'ACK': segment(0, 101, 501, 16),
    'data': segment(0, 101, 501, 24, b'x' * 100), 'ACK2': segment(1, 501, 201, 16), 'FIN': segment(0, 201, 501, 17),
    'FIN2': segment(1, 501, 202, 17), 'end': segment(0, 202, 502, 16)}
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n, (name, p) in enumerate(segments.items()):
        for copy in range(2 if name in sys.argv[1] else 1):
            f.write(struct.pack('<IIII', 1700000000, n * 1000 + copy, len(p), len(p)) + p)
PY
	usr/bin/tcptrace -n -l in.pcap 2>/dev/null | awk '/(actual|rexmt) data (pkts|bytes):/ { printf "%s ", $4 }'
}
seen="$(counts ''); $(counts data); $(counts SYN); $(counts 'SYN data FIN')"
echo "tcptrace $version, segments and bytes of data, and those of them repeated: nothing twice, the data, SYN, all three: $seen"
[ "$seen" = "1 100 0 0 ; 2 200 1 100 ; 1 100 1 1 ; 2 200 3 102 " ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: ten packets of one UDP flow in a second are one record, whatever the port.
# Is:    at port 53 nfpcapd makes a record of each packet, without a duration. At port 54 it makes
#        one record of ten packets that lasts 0.9 s.
# Why:   who compares the records of two exporters has to expect that one of them has a record for
#        each packet, and for DNS alone.
set -euo pipefail
version=1.7.1-2+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q nfdump=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

# records PORT prints how many records ten datagrams of one flow make, and their durations.
records() {
	python3 - "$1" <<'PY'
import struct, sys
port = int(sys.argv[1])
query = struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + b'\x07example\x03org\0\0\1\0\1'
udp = struct.pack('>HHHH', 40000, port, 8 + len(query), 0) + query
def checked(header):
    total = sum(struct.unpack('>10H', header))
    total = (total & 0xffff) + (total >> 16)
    return header[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + header[12:]
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(10):
        ip = checked(struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), i + 1, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])))
        frame = bytes.fromhex('020000000002' '020000000001' '0800') + ip + udp
        f.write(struct.pack('<IIII', 1700000000, i * 100000, len(frame), len(frame)) + frame)
PY
	rm -rf flows && mkdir flows
	usr/bin/nfpcapd -r in.pcap -l flows >/dev/null 2>&1
	usr/bin/nfdump -q -R flows -o 'fmt:%td' 2>/dev/null | sort | uniq -c | awk '{print $1 " of " $2}'
}

dns=$(records 53) other=$(records 54)
echo "nfpcapd $version: records and durations of ten packets, port 53: $dns; port 54: $other"
[ "$dns, $other" = "10 of 00:00:00.000, 1 of 00:00:00.900" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: traceends counts packets and bytes that each address sent and received: in ten datagrams of 48 bytes
#        between two hosts, 480 bytes sent are 480 bytes received.
# Is:    the receiver has 480 bytes, the sender 122880: the length of IPv4 is added as it stands in the packet, in
#        network byte order, on little-endian machines. A datagram of 256 bytes counts as 1. Hosts of IPv6,
#        hardware addresses and the receivers of IPv4 are right.
# Why:   the list is made to find who sends most. 100 bytes count as 25600 bytes and 1536 as 6, so small packets
#        win, and no sum of the senders is a sum of the receivers.
set -euo pipefail
version=3.0.22-0.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libtrace-tools=$version libtrace3=$version libpacketdump3=$version libwandio1 libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=usr/lib:$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH

# bytes TYPE LENGTH prints what the sender of ten datagrams sent, and what their receiver received.
bytes() {
	python3 - "$2" <<'PY'
import struct, sys
length = int(sys.argv[1])
h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, length, 9, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
total = sum(struct.unpack('>10H', h))
total = (total & 0xffff) + (total >> 16)
h = h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:]
frame = bytes.fromhex('020000000002' '020000000001' '0800') + h + struct.pack('>HHHH', 1000, 2000, length - 20, 0) + bytes(length - 28)
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n in range(10):
        f.write(struct.pack('<IIII', 1700000000, n, len(frame), len(frame)) + frame)
PY
	usr/bin/traceends -A "$1" pcapfile:in.pcap | awk '{ sent += $4; received += $7 } END { printf "%d and %d", sent, received }'
}

seen="IPv4: $(bytes v4 48), of 256 bytes $(bytes v4 256); hardware addresses: $(bytes mac 48)"
echo "traceends $version, bytes sent and received in ten datagrams of 48 bytes, $seen"
[ "$(printf '\1\0' | od -An -tu2 | tr -d ' ')" = 1 ] || { echo "this machine is big-endian"; exit 2; }
[ "$seen" = 'IPv4: 122880 and 480, of 256 bytes 10 and 2560; hardware addresses: 480 and 480' ]

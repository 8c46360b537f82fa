#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: tcprewrite without any option that changes a frame copies a capture as it is. With --pnat=..., which
#        changes IPv4 addresses, the frames of IPv6 stay as they are.
# Is:    each frame of IPv6 gets other hardware addresses, whatever the options: both, that of the sender too,
#        become the multicast address 33:33 and the last four bytes of the IPv6 address, though these
#        addresses are unicast. Frames of IPv4 keep theirs.
# Why:   after a capture was made anonymous, or got a VLAN tag, no IPv6 packet equals its copy in another
#        capture, all stations of IPv6 are other stations, and a bridge floods the frames when they are replayed.
set -euo pipefail
version=4.4.3-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q tcpreplay=$version libpcap0.8 libdbus-1-3 libdumbnet1 >/dev/null 2>&1 || { echo "tcpreplay $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH

# in.pcap has a UDP packet of IPv4 and of IPv6 between the same two stations.
python3 - <<'PY'
import struct
udp = struct.pack('>HHHH', 1000, 2000, 12, 0)
def checksum(h):
    total = sum(struct.unpack('>%dH' % (len(h) // 2), h))
    total = (total & 0xffff) + (total >> 16)
    return struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff)
h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 32, 9, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
four = h[:10] + checksum(h) + h[12:] + udp + b'data'
ends = bytes.fromhex('20010db8' '00000000' '00000000' '0a000001' '20010db8' '00000000' '00000000' '0a000002')
six = struct.pack('>IHBB', 6 << 28, 12, 17, 64) + ends + udp[:6] + checksum(ends + struct.pack('>IxxxB', 12, 17) + udp + b'data') + b'data'
stations = bytes.fromhex('020000000002' '020000000001')
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n, p in enumerate([stations + b'\x08\x00' + four, stations + b'\x86\xdd' + six]):
        f.write(struct.pack('<IIII', 1700000000, n, len(p), len(p)) + p)
PY

# stations OPTION... prints source and destination of both frames behind tcprewrite.
stations() {
	usr/bin/tcprewrite -i in.pcap -o out.pcap "$@" >/dev/null 2>&1
	python3 - <<'PY'
import struct
b, at = open('out.pcap', 'rb').read(), 24
while at < len(b):
    n = struct.unpack('<I', b[at + 8:at + 12])[0]
    print(b[at + 22:at + 28].hex(':'), '>', b[at + 16:at + 22].hex(':'), end='; ')
    at += 16 + n
PY
}

kept='02:00:00:00:00:01 > 02:00:00:00:00:02; '
changed='33:33:0a:00:00:01 > 33:33:0a:00:00:02; '
plain=$(stations && echo .) pnat=$(stations --pnat=10.0.0.0/24:10.9.0.0/24 && echo .)
echo "tcprewrite $version, stations of a frame of IPv4 and of IPv6, without an option: $plain with --pnat of IPv4: $pnat"
[ "$plain" = "$kept$changed." ] && [ "$pnat" = "$kept$changed." ]

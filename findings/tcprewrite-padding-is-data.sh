#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: tcprewrite copies a frame that Ethernet padded to 60 bytes as it is. If an option changes something in it,
#        the padding stays behind the datagram, whose length does not change.
# Is:    with or without options, the length of IPv4 and IPv6 grows over the padding: an acknowledgment without
#        data becomes a segment of 6 bytes, zeros, with new checksums, so that all is valid. Segments that
#        fill their frames are unchanged.
# Why:   captures of receivers have padded frames, those of senders have not. After tcprewrite the same segment
#        has another length and checksum at one tap than at the other, and each acknowledgment carries data.
set -euo pipefail
version=4.4.3-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q tcpreplay=$version libpcap0.8 libdbus-1-3 libdumbnet1 >/dev/null 2>&1 || { echo "tcpreplay $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH

python3 - <<'PY'
import struct
def checksum(b):
    total = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    total = (total & 0xffff) + (total >> 16)
    return struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff)
def segment(data):
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    t = struct.pack('>HHIIBBHHH', 4000, 80, 1, 1, 0x50, 0x10, 1000, 0, 0) + data
    t = t[:16] + checksum(ends + struct.pack('>HH', 6, len(t)) + t) + t[18:]
    h = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(t), 9, 0x4000, 64, 6, 0) + ends
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + checksum(h) + h[12:] + t
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for p in segment(b'').ljust(60, b'\0'), segment(b'eight...'):
        f.write(struct.pack('<IIII', 1700000000, 0, len(p), len(p)) + p)
PY

# data OPTIONS prints how many bytes of data each segment has before and after.
data() {
	usr/bin/tcprewrite -i in.pcap -o out.pcap "$@" >/dev/null 2>&1
	python3 - <<'PY'
import struct
for name in 'in.pcap', 'out.pcap':
    b, at = open(name, 'rb').read(), 24
    while at < len(b):
        print(struct.unpack('>H', b[at + 32:at + 34])[0] - 40, end=' ')
        at += 16 + struct.unpack('<I', b[at + 8:at + 12])[0]
PY
}
plain=$(data) station=$(data --enet-smac=02:00:00:00:00:09)
echo "tcprewrite $version, bytes of data of a padded and a longer segment, before and after: $plain; with another hardware address: $station"
[ "$plain" = "0 8 6 8 " ] && [ "$station" = "0 8 6 8 " ]

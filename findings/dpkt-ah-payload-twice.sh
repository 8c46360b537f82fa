#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: dpkt, which reads an IPv6 datagram with an authentication header (AH) and the UDP, ICMP or OSPF behind it, writes
#        the frame that it read, as it does with all other headers that go before the payload.
# Is:    it writes the payload a second time behind the frame, and the length of IPv6 stays as it was. dpkt keeps the
#        payload in the header too, and writes both. In IPv4 nothing is written twice. With ESP in IPv6, bytes()
#        raises an AttributeError.
# Why:   AH protects OSPFv3 (RFC 4552). After a program of dpkt has changed times or hop limits of a capture, these
#        frames are up to twice as long as the link allows, and equal their copies at no other tap.
set -euo pipefail
version=1.9.8-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-dpkt=$version >/dev/null 2>&1 || { echo "dpkt $version cannot be had"; exit 2; }
dpkg -x python3-dpkt*.deb .
seen=$(PYTHONPATH=usr/lib/python3/dist-packages python3 - <<'PY'
import struct
import dpkt
udp = struct.pack('>HHHH', 4000, 5000, 24, 0x1234) + b'sixteen of bytes'
ah = struct.pack('>BBHII', 17, 4, 0, 256, 1) + bytes(range(12))
def six(following, data):
    h = struct.pack('>IHBB', 6 << 28, len(data), following, 1) + bytes.fromhex('fe80000000000000' '0000000000000001' 'ff02000000000000' '0000000000000005')
    return bytes.fromhex('333300000005' '020000000001' '86dd') + h + data
h = struct.pack('>BBHHHBBH', 0x45, 0, 68, 9, 0, 1, 51, 0x1234) + bytes([10, 0, 0, 1, 224, 0, 0, 5])
four = bytes.fromhex('01005e000005' '020000000001' '0800') + h + ah + udp
def seen(name, frame):
    read = dpkt.ethernet.Ethernet(frame)
    try:
        written = bytes(read)
    except AttributeError:
        return name + ' raises'
    if written == frame + udp:
        return '%s adds the payload, %d + %d bytes' % (name, len(frame), len(udp))
    return name + (' is equal' if written == frame else ' differs')
print(seen('options', six(0, bytes([17, 0, 1, 4, 0, 0, 0, 0]) + udp)), seen('AH', six(51, ah + udp)), seen('AH in IPv4', four),
    seen('ESP', six(50, struct.pack('>II', 256, 1) + bytes(32))), sep='; ')
PY
)
echo "dpkt $version, frames that are read and written: $seen"
[ "$seen" = "options is equal; AH adds the payload, 102 + 24 bytes; AH in IPv4 is equal; ESP raises" ]

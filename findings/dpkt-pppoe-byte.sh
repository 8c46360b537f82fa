#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: dpkt writes a frame that it has read, and that nobody changed, as it was: bytes(Ethernet(frame)) is
#        the frame.
# Is:    of a PPPoE frame a byte is missing. dpkt reads the protocol of PPP (00 21 for IPv4) as a number, and
#        writes it in the compressed form of a single byte, against the advice of RFC 2516. The PPPoE length
#        stays as it was, so it states a byte more than there is.
# Why:   after a program of dpkt has changed addresses or times of a capture, no frame of a subscriber line
#        equals its copy at another tap, not even frames that the program left alone.
set -euo pipefail
version=1.9.8-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-dpkt=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
dpkg -x ./*.deb .
cat >write.py <<'PY'
import struct
from dpkt.ethernet import Ethernet
header = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 48, 1, 0, 64, 17, 0x66c2, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
packet = header + struct.pack('>HHHH', 4000, 5000, 28, 0) + bytes(20)
hardware = bytes.fromhex('020000000002' '020000000001')
pppoe = bytes.fromhex('8864' '11' '00' '0005') + struct.pack('>H', 2 + len(packet)) + bytes.fromhex('0021') + packet
for name, frame in ('plain', hardware + b'\x08\x00' + packet), ('PPPoE', hardware + pppoe):
    written = bytes(Ethernet(frame))
    print('%s %d of %d bytes%s' % (name, len(written), len(frame), '' if written == frame else ', %s for %s' % (written[18:22].hex(), frame[18:22].hex())), end='; ')
PY
seen=$(PYTHONPATH=usr/lib/python3/dist-packages python3 write.py)
echo "dpkt $version: $seen"
[ "$seen" = "plain 62 of 62 bytes; PPPoE 69 of 70 bytes, 00322145 for 00320021; " ]

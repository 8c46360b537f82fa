#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: in a pcapng file of two interfaces, of which one counts microseconds and the other
#        nanoseconds (if_tsresol), dpkt reads the time of each packet by its own interface.
# Is:    it reads the first interface only. Packets of the second one are a thousand times later: of
#        the year 55840.
# Why:   copies that two taps saw at one moment are 53,000 years apart, so none is found. Files of
#        several interfaces are what dumpcap and mergecap write.
set -euo pipefail
version=1.9.8-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-dpkt=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
dpkg -x ./*.deb .
cat >read.py <<'PY'
import struct
def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack('<II', kind, 12 + len(body)) + body + struct.pack('<I', 12 + len(body))
def option(code, value): return struct.pack('<HH', code, len(value)) + value + bytes(-len(value) % 4)
def section(): return block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1))
def interface(*options): return block(1, struct.pack('<HHI', 1, 0, 0) + b''.join(options) + (struct.pack('<HH', 0, 0) if options else b''))
def packet(number, ticks):
    frame = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes(46)
    return block(6, struct.pack('<IIIII', number, ticks >> 32, ticks & 0xffffffff, len(frame), len(frame)) + frame)
nanoseconds, second = option(9, b'\x09'), 1700000000

with open('in.pcapng', 'wb') as f:
    f.write(section() + interface() + interface(nanoseconds) + packet(0, second * 10**6) + packet(1, second * 10**9))
import dpkt
with open('in.pcapng', 'rb') as f:
    print(*['%.0f' % time for time, _ in dpkt.pcapng.Reader(f)])
PY
seen=$(PYTHONPATH=usr/lib/python3/dist-packages python3 read.py)
echo "dpkt $version: times of a packet of each of two interfaces, both at 1700000000: $seen"
[ "$seen" = "1700000000 1700000000000" ]

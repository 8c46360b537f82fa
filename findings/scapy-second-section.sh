#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: two pcapng files one behind the other are one valid file of two sections, and scapy reads the
#        packets of the second as it reads those of the first.
# Is:    it looks for the interfaces of the second section in the list of the first, so times have
#        the resolution of another capture. It also passes over if_tsoffset: a packet of an
#        interface that counts from an hour later is an hour early.
# Why:   rotated captures are put together in this way. The same packet has two times, a thousand
#        times apart, and what is a copy depends on the order of the files.
set -euo pipefail
version=2.5.0+dfsg-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-scapy=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
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

import logging
logging.disable(logging.CRITICAL)
from scapy.utils import PcapNgReader
def times(blocks):
    with open('in.pcapng', 'wb') as f:
        f.write(blocks)
    return ' '.join('%.0f' % p.time for p in PcapNgReader('in.pcapng'))
first, other = section() + interface() + packet(0, second * 10**6), section() + interface(nanoseconds) + packet(0, second * 10**9)
print('%s; %s; %s' % (times(first + other), times(other + first), times(section() + interface(option(14, struct.pack('<q', 3600))) + packet(0, (second - 3600) * 10**6))))
PY
seen=$(HOME=$folder PYTHONPATH=usr/lib/python3/dist-packages python3 read.py)
echo "scapy $version: times of packets at 1700000000, in two sections, in the sections the other way round, and of an interface with an offset: $seen"
[ "$seen" = "1700000000 1700000000000; 1700000000 1700000; 1699996400" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: the sequence number of an IPFIX message is how many data records came before it (RFC 7011,
#        section 3.1), so an exporter's first message has 0.
# Is:    softflowd counts the records of flows up to the end of the message: its first one has as
#        many as it carries. Its records about itself, in the same message, do not count at all.
# Why:   a collector that follows the RFC finds records lost, or an exporter that starts again and
#        again, in a stream without loss. Who takes records out of the stream has to renumber it by
#        the exporter's rule.
set -euo pipefail
version=1.1.0-1+b1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q softflowd=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
cat >listen.py <<'PY'
import socket, struct, subprocess
def checked(h):
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    return h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:]
with open('in.pcap', 'wb') as f: # 40 flows of five packets
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(200):
        udp = struct.pack('>HHHH', 4000, 5000, 28, 0) + bytes(20)
        ip = checked(struct.pack('>BBHHHBBH4s4s', 0x45, 0, 48, i + 1, 0, 64, 17, 0, bytes([10, 0, 0, 1 + i % 40]), bytes([10, 0, 1, 1])))
        p = bytes.fromhex('020000000002' '020000000001' '0800') + ip + udp
        f.write(struct.pack('<IIII', 1700000000, i * 10000, len(p), len(p)) + p)
collector = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
collector.bind(('127.0.0.1', 0))
collector.settimeout(5)
subprocess.run(['usr/sbin/softflowd', '-r', 'in.pcap', '-n', '127.0.0.1:%d' % collector.getsockname()[1], '-v', '10', '-d'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
before, size, options = 0, {}, set()
try:
    while True:
        m = collector.recv(65535)
        at, flows, others = 16, 0, 0
        while at < len(m):
            kind, length = struct.unpack('>HH', m[at:at + 4])
            if kind in (2, 3): # templates: the length of their records
                number, fields = struct.unpack('>HH', m[at + 4:at + 8])
                o = at + (8 if kind == 2 else 10)
                size[number] = sum(struct.unpack('>HH', m[o + 4 * i:o + 4 * i + 4])[1] for i in range(fields))
                if kind == 3:
                    options.add(number)
            elif kind in options:
                others += (length - 4) // size[kind]
            else:
                flows += (length - 4) // size[kind]
            at += length
        print('number %d: %d records of flows and %d others before, %d and %d in it' % (struct.unpack('>I', m[8:12])[0], before, 0 if before == 0 else 1, flows, others))
        before += flows
        collector.settimeout(1)
except TimeoutError:
    pass
PY
seen=$(python3 listen.py)
echo "softflowd $version:"
echo "$seen"
[ "$seen" = "number 24: 0 records of flows and 0 others before, 24 and 1 in it
number 40: 24 records of flows and 1 others before, 16 and 0 in it" ]

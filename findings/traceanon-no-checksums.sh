#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: traceanon changes addresses and, as its manual says, "fixes the checksums inside TCP and UDP headers", and that
#        of IPv4, so that a right checksum stays right, or a wrong one wrong.
# Is:    it sets them to 0, whatever they were, in IPv4, TCP, UDP and ICMP. For IPv4 and TCP that is a wrong checksum, so
#        all packets look damaged. Those of the packet that an ICMP error quotes are the only ones that it fixes.
# Why:   a packet that was damaged on its way differs from its repetition in little more than the checksum: behind
#        traceanon nobody can say which of the two was received. A reader that checks drops the whole file.
set -euo pipefail
version=3.0.22-0.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libtrace-tools=$version libtrace3=$version libpacketdump3=$version libwandio1 libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=usr/lib:$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH
python3 - <<'PY'
import struct
ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
def checksum(b):
    total = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    total = (total & 0xffff) + (total >> 16)
    return struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff)
def datagram(protocol, data, at):
    ends_too = b'' if protocol == 1 else ends + struct.pack('>HH', protocol, len(data))
    data = data[:at] + checksum(ends_too + data) + data[at + 2:]
    h = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(data), 9, 0, 64, protocol, 0) + ends
    return h[:10] + checksum(h) + h[12:] + data
udp = datagram(17, struct.pack('>HHHH', 4000, 5000, 12, 0) + b'data', 6)
tcp = datagram(6, struct.pack('>HHIIBBHHH', 4000, 80, 1, 1, 0x50, 0x10, 1000, 0, 0) + b'data', 16)
icmp = datagram(1, b'\x03\x03\0\0\0\0\0\0' + udp, 2)
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for p in udp, tcp, icmp:
        p = bytes.fromhex('020000000002' '020000000001' '0800') + p
        f.write(struct.pack('<IIII', 1700000000, 0, len(p), len(p)) + p)
PY
usr/bin/traceanon -s -d -p 10.9.0.0/16 pcapfile:in.pcap pcapfile:out.pcap
seen=$(python3 - <<'PY'
import struct
for name in 'in.pcap', 'out.pcap':
    b, at, sums = open(name, 'rb').read(), 24, []
    for i in 0, 1, 2:
        p = b[at + 30:at + 16 + struct.unpack('<I', b[at + 8:at + 12])[0]]
        sums += [p[10:12], p[(26, 36, 22)[i]:][:2]]
        at += 30 + len(p)
    print(sum(any(s) for s in sums), 'of', len(sums), 'and', sum(struct.unpack('>10H', p[28:48])) % 65535 == 0, end='; ')
PY
)
echo "libtrace $version, checksums of IPv4 with UDP, TCP and ICMP that are not 0, and whether a quoted one is right, before and after: $seen"
[ "$seen" = "6 of 6 and True; 0 of 6 and True; " ]

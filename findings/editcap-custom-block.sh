#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a custom block between two packets of a pcapng file, which the format allows anywhere for data of a vendor, is
#        no packet: capinfos counts two packets, so the second packet is number 2 for editcap -r.
# Is:    capinfos counts two, and editcap has three: number 2 is the custom block, and the second packet is number
#        3. What was asked for as packet 2 is a file without a packet. editcap -d, too, sees three packets.
#        tshark of the same version numbers frames as editcap does, with a line for the block.
# Why:   numbers from any tool that counts packets are too low behind each custom block, and editcap -D 5, which
#        looks for copies among the last five packets, looks among fewer.
set -euo pipefail
version=4.0.17-0+deb12u3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q wireshark-common=$version libwiretap13=$version libwsutil14=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
python3 - <<'PY'
import struct
def block(kind, body):
    return struct.pack('<II', kind, 12 + len(body)) + body + struct.pack('<I', 12 + len(body))
def packet(n):
    return block(6, struct.pack('<IIIII', 0, 0x60a00, n, 60, 60) + bytes.fromhex('020000000002' '020000000001' '88b5') + bytes([n] * 46))
with open('in.pcapng', 'wb') as f:
    f.write(block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1)) + block(1, struct.pack('<HHI', 1, 0, 0)))
    # 32473 is the enterprise number for documentation (RFC 5612).
    f.write(packet(1) + block(0xbad, struct.pack('<I', 32473) + b'a vendor') + packet(2))
PY
# packets FILE prints how many packets capinfos counts.
packets() { usr/bin/capinfos -c -M "$1" 2>/dev/null | sed -n 's/^Number of packets: *//p'; }
for number in 2 3; do usr/bin/editcap -r in.pcapng "out$number.pcapng" $number 2>/dev/null; done
seen="$(packets in.pcapng) packets; as number 2: $(packets out2.pcapng), as number 3: $(packets out3.pcapng); editcap -d: $(usr/bin/editcap -d in.pcapng out.pcapng 2>&1 | grep -oE '[0-9]+ packets seen')"
echo "Wireshark $version, a custom block between two packets: $seen"
[ "$seen" = '2 packets; as number 2: 0, as number 3: 1; editcap -d: 3 packets seen' ]

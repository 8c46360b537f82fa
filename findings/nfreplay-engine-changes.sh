#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: nfreplay -v 5 sends the flows of a file again and again as the same exporter. The records have no engine, so
#        its type and number in the header of NetFlow v5 are 0, or whatever they are in each run.
# Is:    both differ from run to run: the two bytes are never set. The rest of the message is equal. Flows of
#        IPv6, which NetFlow v5 has no room for, are left out without a word, with exit code 0.
# Why:   the engine is a part of who exports: collectors count sequence numbers by it, and a replay that was sent
#        twice looks like reports of two line cards, whose flows are no copies.
set -euo pipefail
version=1.7.1-2+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q nfdump=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "nfdump $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH

# in.pcap has a packet of IPv4 and a packet of IPv6.
python3 - <<'PY'
import struct
udp = struct.pack('>HHHH', 1000, 2000, 12, 0) + b'data'
four = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 32, 9, 0, 64, 17, 0x66be, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
six = struct.pack('>IHBB', 6 << 28, 12, 17, 64) + bytes.fromhex('20010db8000000000000000000000001' '20010db8000000000000000000000002')
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n, p in enumerate([b'\x08\x00' + four, b'\x86\xdd' + six]):
        p = bytes.fromhex('020000000002' '020000000001') + p + udp
        f.write(struct.pack('<IIII', 1700000000, n, len(p), len(p)) + p)
PY
mkdir flows
usr/bin/nfpcapd -r in.pcap -l flows -S 0 >/dev/null 2>&1

# The program replays the file eight times to a socket of its own on the loopback interface.
seen=$(python3 - flows/nfcapd.* <<'PY'
import socket, struct, subprocess, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(('127.0.0.1', 0))
receiver.settimeout(10)
engines, rest, flows = set(), set(), set()
for _ in range(8):
    subprocess.run(['usr/bin/nfreplay', '-v', '5', '-H', '127.0.0.1', '-p', str(receiver.getsockname()[1]), '-r', sys.argv[1]], check=True, capture_output=True)
    message = receiver.recv(65535)
    engines.add(message[20:22])
    rest.add(message[:20] + message[22:])
    flows.add(struct.unpack('>HH', message[:4]))
print('engines', 'differ' if len(engines) > 1 else 'equal', 'rest', 'equal' if len(rest) == 1 else 'differs', 'version and flows', *flows)
PY
)
echo "nfdump $version, eight replays of a flow of IPv4 and a flow of IPv6 as NetFlow v5: $seen"
[ "$seen" = "engines differ rest equal version and flows (5, 1)" ]

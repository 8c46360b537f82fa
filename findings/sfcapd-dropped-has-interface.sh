#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a packet that the switch dropped has no output interface, and a packet that it flooded to several has no single
#        interface. sFlow (version 5) says so in the highest two bits of the output: 1 is dropped, with a reason behind
#        it, and 2 is several, with their number. sfcapd leaves the interface at 0, or does not count the packet.
# Is:    it takes the reason or the number for the interface. A packet that was dropped for reason 2 left by
#        interface 2, and a broadcast to 3 interfaces left by interface 3. An expanded sample, which has a field
#        of its own for the format, is the same.
# Why:   interface 2 has traffic that no wire carried, at a rate that the next switch never sees. Whoever follows a
#        packet from switch to switch, to find its copies, goes along the wrong link.
set -euo pipefail
version=1.7.1-2+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q nfdump=$version nfdump-sflow=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "nfdump $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH
mkdir flows
python3 - <<'PY'
import socket, struct, subprocess, time
def words(*values):
    return struct.pack('>%dI' % len(values), *values)
def message(number, sample_type, interfaces):
    ip = struct.pack('>BBHHHBBH', 0x45, 0, 46, 9, 0, 64, 17, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    frame = bytes.fromhex('020000000002' '020000000001' '0800') + ip + struct.pack('>HHHH', number, 5000, 26, 0) + bytes(18)
    record = words(1, len(frame) + 16, 1, len(frame) + 4, 4, len(frame)) + frame # a header of Ethernet
    source = (5,) if sample_type == 1 else (0, 5)
    sample = words(number, *source, 100, 1000, 0, *interfaces, 1) + record
    return words(5, 1) + bytes([127, 0, 0, 1]) + words(0, number, 1000, 1, sample_type, len(sample)) + sample
dropped, several = 1 << 30, 2 << 30
messages = [message(1, 1, (5, 7)), message(2, 1, (5, dropped | 2)), message(3, 1, (5, several | 3)), message(4, 3, (0, 5, 1, 2)), message(5, 3, (0, 5, 2, 3))]
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind(('127.0.0.1', 0))
port = sender.getsockname()[1]
sender.close()
collector = subprocess.Popen(['usr/bin/sfcapd', '-w', 'flows', '-b', '127.0.0.1', '-p', str(port)], stderr=subprocess.PIPE, text=True)
for line in collector.stderr:
    if 'Startup' in line:
        break
for m in messages:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(m, ('127.0.0.1', port))
time.sleep(1)
collector.terminate()
collector.communicate()
PY
seen=$(usr/bin/nfdump -q -R flows -o 'fmt:%sp %out %pkt' | awk '{ print $1 ": " $2 " " $3 ";" }' | tr '\n' ' ')
echo "sfcapd $version, output interface and packets at 1 in 100: to interface 7, dropped for reason 2, to 3 interfaces, the last two in expanded samples: $seen"
[ "$seen" = "1: 7 100; 2: 2 100; 3: 3 100; 4: 2 100; 5: 3 100; " ]

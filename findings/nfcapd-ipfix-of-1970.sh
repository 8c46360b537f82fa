#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: nfcapd reads the times of IPFIX in each unit that RFC 5102 has: flowStartSeconds (150), Milliseconds (152),
#        Microseconds (154), Nanoseconds (156), and DeltaMicroseconds (158), counted back from the export time.
# Is:    it reads milliseconds. Flows with any of the other absolute times are of 1 January 1970, 00:00. The
#        microseconds before the export become milliseconds after the start of 1970: a flow that began 60 s before
#        its export is of 16:40 on that day, and one that ended 50 s before it of 13:53. No message tells it.
# Why:   an exporter with another unit has flows that no query for a time finds, and that are no copies of those
#        of any other. All of its flows fall into the same moment, so to a window they are simultaneous.
set -euo pipefail
version=1.7.1-2+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q nfdump=$version libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "nfdump $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH TZ=UTC
mkdir flows
python3 - <<'PY'
import socket, struct, subprocess, time
start, export, key = 1700000000, 1700000060, [(7, 2), (4, 1), (2, 4), (1, 4)]
def message(port, first, last, layout, *times):
    fields = key + [(first, struct.calcsize(layout) // 2), (last, struct.calcsize(layout) // 2)]
    record = struct.pack('>HBII', port, 17, 3, 300) + struct.pack(layout, *times)
    record += bytes(-len(record) % 4)
    body = struct.pack('>HHHH', 2, 8 + 4 * len(fields), 255 + port, len(fields)) + b''.join(struct.pack('>HH', *f) for f in fields)
    body += struct.pack('>HH', 255 + port, 4 + len(record)) + record
    return struct.pack('>HHIII', 10, 16 + len(body), export, port, 1) + body
ntp = (start + 2208988800) << 32
messages = [message(1, 152, 153, '>QQ', start * 1000, start * 1000 + 10000), message(2, 150, 151, '>II', start, start + 10),
    message(3, 154, 155, '>QQ', ntp, ntp + (10 << 32)), message(4, 156, 157, '>QQ', ntp, ntp + (10 << 32)),
    message(5, 158, 159, '>II', 60000000, 50000000)]
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind(('127.0.0.1', 0))
port = sender.getsockname()[1]
sender.close()
collector = subprocess.Popen(['usr/bin/nfcapd', '-w', 'flows', '-b', '127.0.0.1', '-p', str(port)], stderr=subprocess.PIPE, text=True)
for line in collector.stderr:
    if 'Startup' in line:
        break
for m in messages:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(m, ('127.0.0.1', port))
time.sleep(1)
collector.terminate()
collector.communicate()
PY
seen=$(usr/bin/nfdump -q -R flows -o 'fmt:%sp %ts %te' | awk '{ print $1 ": " $2 " " $3 " to " $5 ";" }' | tr '\n' ' ')
echo "nfcapd $version, a flow from 2023-11-14 22:13:20 to 22:13:30, in ms, s, us, ns and us before the export: $seen"
[ "$seen" = "1: 2023-11-14 22:13:20.000 to 22:13:30.000; 2: 1970-01-01 00:00:00.000 to 00:00:00.000; 3: 1970-01-01 00:00:00.000 to 00:00:00.000; 4: 1970-01-01 00:00:00.000 to 00:00:00.000; 5: 1970-01-01 16:40:00.000 to 13:53:20.000; " ]

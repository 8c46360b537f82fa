#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a flow of IPFIX starts at its flowStartSysUpTime (22) and ends at its flowEndSysUpTime (21), counted from
#        the systemInitTimeMilliseconds (160) that it states, as a flow of NetFlow v9 with the fields 22 and 21 does.
# Is:    to nfcapd it starts at its end, and ends at its start, whatever the order of the fields. nfdump prints a
#        negative duration. Absolute milliseconds (152 and 153) and NetFlow v9 are right.
# Why:   the same flow from two exporters, or from one that changed from NetFlow v9 to IPFIX, has two starts,
#        which differ by its duration: a window in time finds short copies, and misses long ones.
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
# Flows of 10 s, from 22:13:20.5 on, ports 1 to 4. The exporter started 100 s before 22:13:20.
start, init = 1700000000500, 1700000000000 - 100000
def words(*values):
    return struct.pack('>%dH' % len(values), *values)
def sets(template_set, template, fields, record):
    described = words(template, len(fields)) + b''.join(words(*f) for f in fields)
    record += bytes(-len(record) % 4)
    return words(template_set, 4 + len(described)) + described + words(template, 4 + len(record)) + record
key = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (2, 4), (1, 4)]
def flow(port):
    return bytes([10, 0, 0, 1, 10, 0, 0, 2]) + words(port, 9) + b'\x11' + struct.pack('>II', 3, 300)
uptimes = {22: (4, 100500), 21: (4, 110500), 160: (8, init), 152: (8, start), 153: (8, start + 10000)}
def ipfix(port, *fields):
    record = flow(port) + b''.join(uptimes[f][1].to_bytes(uptimes[f][0], 'big') for f in fields)
    body = sets(2, 255 + port, key + [(f, uptimes[f][0]) for f in fields], record)
    return struct.pack('>HHIII', 10, 16 + len(body), 1700000060, port, 1) + body
nine = struct.pack('>HHIIII', 9, 2, 160000, 1700000060, 1, 1) + sets(0, 300, key + [(22, 4), (21, 4)], flow(4) + struct.pack('>II', 100500, 110500))
free = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
free.bind(('127.0.0.1', 0))
port = free.getsockname()[1]
free.close()
collector = subprocess.Popen(['usr/bin/nfcapd', '-w', 'flows', '-b', '127.0.0.1', '-p', str(port)], stderr=subprocess.PIPE, text=True)
for line in collector.stderr:
    if 'Startup' in line:
        break
for message in ipfix(1, 152, 153), ipfix(2, 22, 21, 160), ipfix(3, 160, 21, 22), nine:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(message, ('127.0.0.1', port))
time.sleep(1)
collector.terminate()
collector.communicate()
PY
seen=$(usr/bin/nfdump -q -R flows -o 'fmt:%sp %ts %te' | awk '{ print $1 ": " substr($3, 7) " to " substr($5, 7) ";" }' | tr '\n' ' ')
echo "nfcapd $version, seconds of 22:13 in which flows start and end, in absolute times, in uptimes, in another order, of NetFlow v9: $seen"
[ "$seen" = "1: 20.500 to 30.500; 2: 30.500 to 20.500; 3: 30.500 to 20.500; 4: 20.500 to 30.500; " ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: nfacctd (pmacct) counts the packets and bytes of an IPFIX record whatever length the template gives the
#        counters. RFC 7011, section 6.2, lets an exporter write octetDeltaCount, of 8 bytes, in any shorter length.
# Is:    with 4 or 8 bytes they count. With 1, 2, 3, 5, 6 or 7 bytes the flow is there with its addresses and
#        times, and has 0 packets and 0 bytes. No message tells it.
# Why:   exporters take short counters to fit more flows into a message. Their flows look like empty ones, no totals
#        equal those of another exporter, and whoever drops flows without packets drops all.
set -euo pipefail
version=1.7.7-1+b1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
libraries=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances pmacct 2>/dev/null | grep -E '^lib' | grep -vE '^lib(c6|c-|crypt)' | sort -u || true)
apt-get download -q pmacct=$version $libraries >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH
python3 - <<'PY'
import socket, struct, subprocess, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind(('127.0.0.1', 0))
port = sender.getsockname()[1]
sender.close()
with open('conf', 'w') as f:
    f.write('daemonize: false\nnfacctd_ip: 127.0.0.1\nnfacctd_port: %d\naggregate: src_port\nplugins: print\nprint_output: csv\n' % port)
    f.write('print_output_file: flows.csv\nprint_refresh_time: 86400\n')
def message(length):
    fields = [(8, 4), (12, 4), (7, 2), (2, length), (1, length)]
    record = bytes([10, 0, 0, 1, 10, 0, 0, 2, 0, length]) + (3).to_bytes(length, 'big') + (200).to_bytes(length, 'big')
    record += bytes(-len(record) % 4)
    body = struct.pack('>HHHH', 2, 8 + 4 * len(fields), 255 + length, len(fields)) + b''.join(struct.pack('>HH', *f) for f in fields)
    body += struct.pack('>HH', 255 + length, 4 + len(record)) + record
    return struct.pack('>HHIII', 10, 16 + len(body), 1700000060, length, 1) + body
log = open('log', 'w+')
collector = subprocess.Popen(['usr/sbin/nfacctd', '-f', 'conf'], stdout=log, stderr=log)
for _ in range(100):
    time.sleep(0.1)
    if 'waiting for NetFlow/IPFIX' in open('log').read():
        break
for length in range(1, 9):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(message(length), ('127.0.0.1', port))
time.sleep(1)
collector.send_signal(2)
collector.wait()
PY
seen=$(sort -n flows.csv | awk -F, '$1 + 0 > 0 { printf "%s: %s %s; ", $1, $2, $3 }')
echo "nfacctd $version, packets and bytes of equal flows in counters of 1 to 8 bytes: $seen"
[ "$seen" = "1: 0 0; 2: 0 0; 3: 0 0; 4: 3 200; 5: 0 0; 6: 0 0; 7: 0 0; 8: 3 200; " ]

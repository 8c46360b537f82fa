#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: merging two captures with times in nanoseconds makes a capture with these times, or the tool
#        says that it cannot.
# Is:    tracemerge writes microseconds, and cuts the rest without a word: packets 999 ns apart have
#        the same time.
# Why:   captures with nanoseconds are made to measure the delay between two taps. It is gone after
#        the merge, and which of two equal packets was the first is no longer known.
set -euo pipefail
version=3.0.22-0.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libtrace-tools=$version libtrace3=$version libpacketdump3=$version libwandio1 libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=usr/lib:$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
python3 - <<'PY'
import struct
def write(name, nanoseconds):
    p = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes(46)
    with open(name, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 65535, 1) + struct.pack('<IIII', 1700000000, nanoseconds, len(p), len(p)) + p)
write('a.pcap', 123456000)
write('b.pcap', 123456999)
PY
usr/bin/tracemerge pcapfile:out.pcap pcapfile:a.pcap pcapfile:b.pcap 2>said
seen=$(python3 - <<'PY'
import struct
b = open('out.pcap', 'rb').read()
magic, at, times = struct.unpack('<I', b[:4])[0], 24, []
while at < len(b):
    seconds, part, length = struct.unpack('<III', b[at:at + 12])
    times.append('%d and %d' % (seconds, part))
    at += 16 + length
print('%x: %s' % (magic, ', '.join(times)))
PY
)
echo "libtrace $version: magic number and times of two packets that are 999 ns apart: $seen (said: $(wc -c <said) bytes)"
[ "$seen" = "a1b2c3d4: 1700000000 and 123456, 1700000000 and 123456" ]

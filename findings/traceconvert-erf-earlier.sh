#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: traceconvert writes a pcap file as ERF and back with the times that it had: a unit of ERF is a quarter of a
#        nanosecond, and pcap has microseconds.
# Is:    nearly all packets are a microsecond earlier. Both ways cut the fraction instead of rounding it, so 10 us
#        become 9.99984 us, and those 9 us. Each further way there and back takes another microsecond.
# Why:   captures of cards are ERF, those of hosts are pcap, and both are brought into one format for comparison. A
#        delay of some microseconds between taps depends on how often a file was converted.
set -euo pipefail
version=3.0.22-0.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libtrace-tools=$version libtrace3=$version libpacketdump3=$version libwandio1 libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
LD_LIBRARY_PATH=usr/lib:$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export LD_LIBRARY_PATH PATH=$folder/usr/bin:$PATH
python3 - <<'PY'
import struct
p = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes(46)
with open('0.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(1000):
        f.write(struct.pack('<IIII', 1700000000, 123 + i * 10, len(p), len(p)) + p)
PY
for i in 0 1 2; do
	traceconvert pcapfile:$i.pcap erf:$i.erf 2>/dev/null
	traceconvert erf:$i.erf pcapfile:$((i + 1)).pcap 2>/dev/null
done
seen=$(python3 - <<'PY'
import collections, gzip, struct
for i in 1, 2, 3:
    b = gzip.open('%d.pcap' % i).read()
    late = collections.Counter(struct.unpack('<I', b[28 + n * 76:32 + n * 76])[0] - 123 - n * 10 for n in range(1000))
    print(*('%d of %d us' % (count, us) for us, count in sorted(late.items())), end='; ')
PY
)
echo "libtrace $version: changes of 1000 times after one, two and three ways through ERF: $seen"
[ "$seen" = "1000 of -1 us; 1000 of -2 us; 1000 of -3 us; " ]

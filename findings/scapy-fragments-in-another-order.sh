#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: scapy's defragment6 puts the fragments of an IPv6 datagram in order, as its text says, and makes the
#        datagram that was sent, also if a fragment comes later than the next, or twice.
# Is:    it joins them as they came. A fragment that is early is padded with "X" in front, and a late one goes
#        behind it: 3,048 bytes become 4,280 bytes, with the fragment's data at another place. A
#        fragment that came twice is in the datagram twice.
# Why:   a digest of the result is that of a datagram that nobody has sent, and a mirror that copies
#        packets, or two paths, are enough. Lengths and bytes grow with them.
set -euo pipefail
version=2.5.0+dfsg-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-scapy=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
dpkg -x ./*.deb .
cat >join.py <<'PY'
import logging, warnings
warnings.simplefilter('ignore')
logging.disable(logging.CRITICAL)
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, defragment6, fragment6
sent = IPv6(src='2001:db8::1', dst='2001:db8::2') / UDP(sport=4000, dport=5000) / (bytes(range(250)) * 12)
def joined(*order):
    parts = fragment6(IPv6(src=sent.src, dst=sent.dst) / IPv6ExtHdrFragment(id=1) / sent[UDP], 1280)
    return len(defragment6([IPv6(bytes(parts[i])) for i in order]))
print('%d sent, %d in order, %d with the first two exchanged, %d with the last twice' % (len(sent), joined(0, 1, 2), joined(1, 0, 2), joined(0, 1, 2, 2)))
PY
seen=$(HOME=$folder PYTHONPATH=usr/lib/python3/dist-packages python3 join.py 2>/dev/null)
echo "scapy $version: bytes of a datagram of three fragments: $seen"
[ "$seen" = "3048 sent, 3048 in order, 4280 with the first two exchanged, 3592 with the last twice" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: scapy's IPSession, which joins IPv4 fragments while it reads, skips a datagram that it cannot join,
#        and goes on. A fragment that comes twice is a copy.
# Is:    a fragment that comes twice, or later than the last, ends the whole sniff() with an IndexError: the
#        session takes the first joined datagram of a list that is empty. If the first fragment
#        comes second, the datagram is missing without a word. defragment(), of the same
#        packets, joins late fragments, and leaves twice-seen ones as they are.
# Why:   a capture with duplicates is read up to the first duplicate of a fragment, here 1 of 3 packets. And
#        whoever removes duplicates after the joining never meets one.
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
from scapy.all import IP, UDP, Ether, IPSession, defragment, fragment, rdpcap, sniff, wrpcap
sent = IP(src='10.0.0.1', dst='10.0.0.2', id=7) / UDP(sport=4000, dport=5000) / (bytes(range(250)) * 12)
ends = IP(src='10.0.0.3', dst='10.0.0.2') / UDP(sport=4000, dport=5000) / b'end'
def lengths(name, *order):
    """Reads a packet, fragments of a datagram in the order given, and a packet."""
    parts = [ends, *(fragment(sent, 1400)[i] for i in order), ends]
    wrpcap('in.pcap', [Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') / p for p in parts])
    read, error = [], ''
    try:
        sniff(offline='in.pcap', session=IPSession, store=False, prn=lambda p: read.append(len(p[IP])))
    except IndexError:
        error = ' and IndexError'
    print('%s: IPSession %s%s, defragment %s' % (name, read, error, [len(p[IP]) for p in defragment(rdpcap('in.pcap'))]))
lengths('in order', 0, 1, 2)
lengths('one twice', 0, 1, 1, 2)
lengths('one after the last', 0, 2, 1)
lengths('the first second', 1, 0, 2)
PY
seen=$(HOME=$folder PYTHONPATH=usr/lib/python3/dist-packages python3 join.py 2>/dev/null)
printf 'scapy %s: lengths of a packet, a datagram of three fragments, and a packet, expected 31, 3028, 31:\n%s\n' "$version" "$seen"
[ "$seen" = "in order: IPSession [31, 3028, 31], defragment [31, 3028, 31]
one twice: IPSession [31] and IndexError, defragment [31, 1420, 1420, 1420, 228, 31]
one after the last: IPSession [31] and IndexError, defragment [31, 3028, 31]
the first second: IPSession [31, 31], defragment [31, 3028, 31]" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: `tcpslice -w out in` copies a capture, as its manual says. It counts on packets in the order
#        of their times; a packet that is a microsecond earlier than the packet before it would at worst
#        lie at another place.
# Is:    if a second begins between the two, the copy ends there, without a word and with exit code 0: all
#        packets from it on are lost. Within a second, that packet alone is lost.
# Why:   two queues of a network card are enough for such a packet. Half of a capture can be gone before
#        anybody looks for copies, and a comparison with another tap calls it lost.
set -euo pipefail
version=1.5-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q tcpslice=$version libnids1.21 libosip2-15 libnet1 libglib2.0-0 libpcre2-8-0 libpcap0.8 libdbus-1-3 >/dev/null 2>&1 || { echo "packages of tcpslice $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

# copied TIME TIME prints how many of 40 packets, a second apart, are in the copy. The times, in
# microseconds, are those of packets 19 and 20.
copied() {
	python3 - "$@" <<'PY'
import struct, sys
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(40):
        p = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes([i]) * 46
        time = int(sys.argv[i - 18]) if i in (19, 20) else i * 10**6
        f.write(struct.pack('<IIII', 1700000000 + time // 10**6, time % 10**6, len(p), len(p)) + p)
PY
	rm -f out.pcap
	usr/bin/tcpslice -w out.pcap in.pcap 2>said || { echo "tcpslice failed"; return; }
	echo "$((($(stat -c %s out.pcap) - 24) / 76)) packets$(cat said)"
}

order=$(copied 19000000 19000001) within=$(copied 19000001 19000000) before=$(copied 19000000 18999999)
echo "tcpslice $version: of 40 packets in order $order, with an earlier packet $within, in the second before $before"
[ "$order, $within, $before" = "40 packets, 39 packets, 20 packets" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: pcapfix leaves a sound pcap file as it is. That a packet is a second earlier than the packet
#        before it is no fault of the file: captures of several queues, and merged ones, have that.
# Is:    it takes such packets for damaged, says that the file was sent as text by FTP, and writes
#        them with the time of the packet before, and a microsecond more.
# Why:   who repairs captures before removing duplicates gets other delays between copies: those of
#        such packets are by seconds wrong, and windows in time miss them or find too many.
set -euo pipefail
version=1.1.7-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q pcapfix=$version >/dev/null 2>&1 || { echo "pcapfix $version cannot be had"; exit 2; }
dpkg -x pcapfix*.deb .
python3 - <<'PY'
import struct
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i, second in enumerate([0, 2, 1, 3]):
        p = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes([i]) * 46
        f.write(struct.pack('<IIII', 1700000000 + second, 500, len(p), len(p)) + p)
PY
said=$(usr/bin/pcapfix -o out.pcap in.pcap | tr -d '\r')
times() {
	python3 - "$1" <<'PY'
import struct, sys
data, at, times = open(sys.argv[1], 'rb').read(), 24, []
while at < len(data):
    second, fraction, size, _ = struct.unpack_from('<IIII', data, at)
    times.append('%d.%06d' % (second - 1700000000, fraction))
    at += 16 + size
print(*times)
PY
}
before=$(times in.pcap) after=$(times out.pcap)
echo "pcapfix $version: times $before become $after"
grep -q 'ascii-mode' <<<"$said" && [ "$before" = "0.000500 2.000500 1.000500 3.000500" ] && [ "$after" = "0.000500 2.000500 2.000501 3.000500" ]

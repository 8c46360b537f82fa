#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: mergecap of the captures of two taps keeps which tap saw a packet: pcapng has interfaces.
# Is:    two files with one interface each, of equal properties, become one with one interface. With
#        -I none they keep theirs.
# Why:   afterwards nobody knows which copy came from where: "a copy is what the other tap saw too"
#        cannot be asked any more, and neither can what a tap missed.
set -euo pipefail
version=4.0.17-0+deb12u3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q wireshark-common=$version libwiretap13=$version libwsutil14=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu)

# A packet at two taps, 100 microseconds apart.
python3 - <<'PY'
import struct
frame = bytes.fromhex('020000000002' '020000000001' '88b5') + bytes(46)
for name, microsecond in (('tap-a.pcap', 0), ('tap-b.pcap', 100)):
    with open(name, 'wb') as f:
        f.write(struct.pack('<IHHiIIIIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1, 1700000000, microsecond, len(frame), len(frame)) + frame)
PY
# interfaces FILE prints the interface of each packet.
interfaces() {
	python3 - "$1" <<'PY'
import struct, sys
data, at, found = open(sys.argv[1], 'rb').read(), 0, []
while at < len(data):
    kind, size = struct.unpack_from('<II', data, at)
    if kind == 6:
        found.append(str(struct.unpack_from('<I', data, at + 8)[0]))
    at += size
print(' and '.join(found))
PY
}
usr/bin/mergecap -w merged.pcapng tap-a.pcap tap-b.pcap
usr/bin/mergecap -I none -w apart.pcapng tap-a.pcap tap-b.pcap
merged=$(interfaces merged.pcapng) apart=$(interfaces apart.pcapng)
echo "mergecap $version: interfaces of a packet at two taps: $merged; with -I none: $apart"
[ "$merged; $apart" = "0 and 0; 0 and 1" ]

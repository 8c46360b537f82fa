#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: argus adds the copy of a fragment to the flow of its datagram, as it does with copies of other
#        packets and of the fragments before.
# Is:    the copy of the last fragment becomes a flow of its own, between ports 0: with the last fragment the
#        datagram is complete, and argus forgets its ports. If all copies come behind all originals, or if a
#        fragment in the middle comes twice, there is one flow.
# Why:   a mirror that copies each packet adds a flow without ports for each flow with fragments. Counts
#        of flows and ports double, and the same packets in another order are counted otherwise.
set -euo pipefail
server=2:3.0.8.2-2.2 client=1:3.0.8.2-6.1+b3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q argus-server=$server argus-client=$client libpcap0.8 libdbus-1-3 libwrap0 libsasl2-2 libnsl2 libtirpc3 libgeoip1 >/dev/null 2>&1 || { echo "packages of version $server cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

# flows ORDER prints ports and packets of the flows of a datagram's three fragments in an order.
flows() {
	python3 - "$1" <<'PY'
import struct, sys
datagram = struct.pack('>HHHH', 4000, 5000, 8 + 4000, 0) + bytes(4000)
def fragment(i):
    data = datagram[1480 * i:1480 * (i + 1)]
    h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(data), 9, (0x2000 if i < 2 else 0) | 185 * i, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:] + data
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n, i in enumerate(sys.argv[1]):
        p = fragment(int(i))
        f.write(struct.pack('<IIII', 1700000000, n * 1000, len(p), len(p)) + p)
PY
	usr/sbin/argus -r in.pcap -w flows.argus >/dev/null 2>&1
	usr/bin/ra -r flows.argus -n -s sport dport pkts - not man 2>/dev/null | awk 'NR > 1 { printf "%s%s to %s %s", (n++ ? " and " : ""), $1, $2, $3 }'
	rm -f flows.argus
}

seen="$(flows 012); $(flows 0112); $(flows 012012); $(flows 001122)"
echo "argus $server: flows and packets of three fragments, with the middle twice, all copies behind, each copy behind its packet: $seen"
[ "$seen" = "4000 to 5000 3; 4000 to 5000 4; 4000 to 5000 6; 4000 to 5000 5 and 0 to 0 1" ]

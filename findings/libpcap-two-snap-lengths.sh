#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: tcpdump, the program of libpcap itself, reads a pcapng file of two Ethernet interfaces, of which
#        one was captured with 96 bytes of each packet and the other with all. The format states the length for
#        each interface, and mergecap writes such files.
# Is:    it reads no packet, and ends with an error. If both captures were made with the same length, it
#        reads all. The length of each packet, which each program needs, is stated with the packet.
# Why:   taps on slow and fast links are captured with different lengths. No program that reads through
#        libpcap can compare them in one file, though each file alone is read.
set -euo pipefail
version=4.99.3-1 wireshark=4.0.17-0+deb12u3 libpcap=1.10.3-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q tcpdump=$version libpcap0.8=$libpcap libdbus-1-3 wireshark-common=$wireshark libwiretap13=$wireshark libwsutil14=$wireshark >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

# capture FILE LENGTH FIRST writes four packets of 60 bytes, a second apart, from FIRST on.
capture() {
	python3 - "$@" <<'PY'
import struct, sys
arp = b'\xff' * 6 + bytes.fromhex('020000000001' '0806' '0001080006040001' '020000000001') + bytes([10, 0, 0, 1]) + bytes(6) + bytes([10, 0, 0, 2]) + bytes(18)
with open(sys.argv[1], 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, int(sys.argv[2]), 1))
    for i in range(4):
        f.write(struct.pack('<IIII', 1700000000 + i, int(sys.argv[3]), len(arp), len(arp)) + arp)
PY
}
# packets SECOND prints how many packets tcpdump reads of the merger of two captures, and its error.
packets() {
	capture one.pcap 96 0
	capture two.pcap "$1" 500000
	usr/bin/mergecap -w both.pcapng one.pcap two.pcap 2>/dev/null
	usr/bin/tcpdump -nr both.pcapng 2>errors | wc -l | tr -d '\n'
	sed -nE 's/.*pcap_loop: (.*)/ and "\1"/p' errors
}

seen="$(packets 96); $(packets 65535)"
echo "tcpdump $version, libpcap $libpcap: of 8 packets with equal and different lengths: $seen"
[ "$seen" = '8; 0 and "an interface has a snapshot length 65535 different from the snapshot length of the first interface"' ]

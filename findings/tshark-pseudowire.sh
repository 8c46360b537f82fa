#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: below an MPLS label, a control word of four zero bytes and an Ethernet frame with IPv4 in
#        it are found whatever hardware addresses the frame has.
# Is:    with the address of a card (00:0c:29...) tshark finds IPv4. With a local address
#        (02:00:00..., as virtual machines and namespaces have) it takes the control word for the
#        beginning of the frame: addresses are shifted by four bytes, and there is no IPv4.
# Why:   of one mirror of a pseudowire some hosts are read and others are not, and addresses are
#        shown that no station has.
set -euo pipefail
version=4.0.17-0+deb12u3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
libraries='libbrotli1 libc-ares2 libcap2 libdbus-1-3 libgcrypt20 libglib2.0-0 libgmp10 libgnutls30 libgpg-error0 libhogweed6 libicu72 libidn2-0 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 liblua5.2-0 liblz4-1 liblzma5 libnettle8 libnghttp2-14 libp11-kit0 libpcap0.8 libpcre2-8-0 libsmi2ldbl libsnappy1v5 libsystemd0 libtasn1-6 libunistring2 libxml2 libzstd1'
apt-get download -q tshark=$version wireshark-common=$version libwireshark-data=$version libwireshark16=$version libwiretap13=$version libwsutil14=$version $libraries >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)
export WIRESHARK_DATA_DIR=$folder/usr/share/wireshark HOME=$folder

# inside DESTINATION prints the source addresses of the frame behind the control word.
inside() {
	python3 - "$1" <<'PY'
import struct, sys
segment = struct.pack('>HHIIBBHHH', 1000, 443, 5, 77, 0x50, 0x18, 500, 0, 0) + b'x' * 30
ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(segment), 1, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
total = sum(struct.unpack('>10H', ip))
total = (total & 0xffff) + (total >> 16)
ip = ip[:10] + struct.pack('>H', ~total & 0xffff) + ip[12:]
frame = bytes.fromhex(sys.argv[1] + '000c29000002' '0800') + ip + segment
packet = bytes.fromhex('0200000000b2' '0200000000a1' '8847') + struct.pack('>I', 100 << 12 | 1 << 8 | 64) + bytes(4) + frame
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIIIIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1, 1700000000, 0, len(packet), len(packet)) + packet)
PY
	usr/bin/tshark -r in.pcap -T fields -e eth.src -e ip.src 2>/dev/null | sed 's/^[^,]*,//; s/\t/ /; s/ $//'
}

card=$(inside 000c29000001) local=$(inside 020000000001)
echo "tshark $version: frames from 00:0c:29:00:00:02 and 10.0.0.1 below a label and a control word"
echo "  to 00:0c:29:00:00:01: $card"
echo "  to 02:00:00:00:00:01: $local"
[ "$card; $local" = "00:0c:29:00:00:02 10.0.0.1; 00:00:00:01:00:0c" ]

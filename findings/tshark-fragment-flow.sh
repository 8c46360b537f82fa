#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: of a datagram in two fragments, tshark gives the first one, which has the ports, the
#        Community ID of its flow, whatever it does with the second.
# Is:    as it puts fragments together by default, the first fragment gets the ID of a flow without
#        ports, and the last one, whose bytes have none, that of its flow. With ip.defragment off it
#        is the other way round. No setting gives both fragments the same ID.
# Why:   who counts flows by this ID counts two for each flow with fragments, and two people who
#        look at one file with other settings join different packets.
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

python3 - <<'PY'
import struct
def ip(ident, flags, payload):
    h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), ident, flags, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:] + payload
def udp(data): return struct.pack('>HHHH', 4000, 5000, 8 + len(data), 0) + data
long = udp(bytes(range(256)) * 4)
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i, p in enumerate([ip(1, 0, udp(b'whole')), ip(2, 0x2000, long[:504]), ip(2, 504 // 8, long[504:])]):
        f.write(struct.pack('<IIII', 1700000000 + i, 0, len(p), len(p)) + p)
PY

# flows SETTING names the flow of each packet by the first packet with the same ID.
flows() {
	usr/bin/tshark -r in.pcap --enable-protocol communityid -o "ip.defragment:$1" -T fields -e communityid 2>/dev/null |
		awk '{ if (!($1 in first)) first[$1] = NR; printf "%s%d", (NR > 1 ? " " : ""), first[$1] }'
}

together=$(flows TRUE) alone=$(flows FALSE)
echo "tshark $version: flows of a whole datagram, and of one in two fragments, by Community ID"
echo "  fragments put together: $together"
echo "  ip.defragment off: $alone"
[ "$together; $alone" = "1 2 1; 1 1 3" ]

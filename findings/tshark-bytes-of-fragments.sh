#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: tshark -z conv,udp counts a flow of datagrams in three fragments with all fragments, or with the
#        bytes of the datagrams.
# Is:    it counts only the last fragment of each datagram. Two datagrams with 4,000 bytes are 2 packets
#        with 2,164 bytes, where -z conv,ip has 6 with 8,220. With ip.defragment off it counts only
#        the first fragments, 3,028 bytes.
# Why:   large DNS answers, and whatever else comes in fragments, have a quarter of their bytes in a list of
#        flows. Copies that were removed cannot be checked by totals: each list has another.
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
datagram = struct.pack('>HHHH', 4000, 5000, 8 + 4000, 0) + bytes(4000)
def fragment(number, i):
    data = datagram[1480 * i:1480 * (i + 1)]
    h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(data), number, (0x2000 if i < 2 else 0) | 185 * i, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:] + data
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for n in range(6):
        p = fragment(n // 3, n % 3)
        f.write(struct.pack('<IIII', 1700000000, n * 1000, len(p), len(p)) + p)
PY
# total OPTIONS prints the packets and bytes of the only conversation.
total() { usr/bin/tshark -r in.pcap -q "$@" 2>/dev/null | awk '/<->/ { print $(NF - 4), "packets", $(NF - 3), $(NF - 2) }'; }
seen="IP $(total -z conv,ip); UDP $(total -z conv,udp); UDP in parts $(total -z conv,udp -o ip.defragment:FALSE)"
echo "tshark $version: 6 fragments of 2 datagrams: $seen"
[ "$seen" = "IP 6 packets 8220 bytes; UDP 2 packets 2164 bytes; UDP in parts 2 packets 3028 bytes" ]

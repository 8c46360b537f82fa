#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: UDP (protocol 17) and UDP-Lite (136, RFC 3828) between the same ports are two flows: the
#        protocol is part of a Community ID. So are UDP and DCCP (33, RFC 4340).
# Is:    tshark gives UDP and UDP-Lite one ID, that of protocol 17. DCCP has one of its own, without
#        its ports: two conversations of DCCP between two hosts are one flow.
# Why:   an ID joins what is two flows, or splits what another program calls one. Where records of
#        two tools are compared by it, those of UDP-Lite never meet.
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
def ip(proto, payload):
    h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), 1, 0, 64, proto, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:] + payload
data = b'some data'
def dccp(port): return struct.pack('>HHBBHI', port, 5001, 4, 0, 0, 0x04 << 24 | 7) + struct.pack('>I', 6) + data + bytes(3)
with open('in.pcap', 'wb') as f:
    f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i, p in enumerate([ip(17, struct.pack('>HHHH', 4000, 5000, 8 + len(data), 0) + data), ip(136, struct.pack('>HHHH', 4000, 5000, 8, 0) + data), ip(33, dccp(4001)), ip(33, dccp(4002))]):
        f.write(struct.pack('<IIII', 1700000000 + i, 0, len(p), len(p)) + p)
PY
flows=$(usr/bin/tshark -r in.pcap --enable-protocol communityid -T fields -e communityid 2>/dev/null |
	awk '{ if (!($1 in first)) first[$1] = NR; printf "%s%d", (NR > 1 ? " " : ""), first[$1] }')
ids=$(usr/bin/tshark -r in.pcap --enable-protocol communityid -T fields -e ip.proto -e communityid 2>/dev/null | tr '\n\t' '; ')
echo "tshark $version: protocol and Community ID of UDP, UDP-Lite, and two conversations of DCCP: $ids"
[ "$flows" = "1 1 3 3" ]

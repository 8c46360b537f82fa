#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: impacket, which decodes a frame and is asked for its bytes without any change, returns the bytes
#        that it read. Its text calls get_packet "the function used to extract the final packet".
# Is:    it returns other bytes. UDP without a checksum, which RFC 768 allows, gets a checksum. The checksum
#        of TCP, which a host leaves to its card, or which was damaged on its way, is made right. In
#        IPv6, each option, as the Router Alert of MLD, becomes the option PadN with zeros.
# Why:   what impacket wrote is no copy of what it read: the bytes, digests and options differ, and a
#        damaged packet and its repetition look alike. A host that gets the MLD report is not alerted.
set -euo pipefail
version=0.10.0-4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-impacket=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
dpkg -x ./*.deb .
cat >copy.py <<'PY'
import struct
from impacket.ImpactDecoder import EthDecoder
def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack('!H', ~total & 0xffff)
def ethernet(kind, packet):
    return bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]) + struct.pack('!H', kind) + packet
def ipv4(protocol, payload):
    head = struct.pack('!BBHHHBB2x4B4B', 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 10, 0, 0, 1, 10, 0, 0, 2)
    return ethernet(0x800, head[:10] + checksum(head) + head[12:] + payload)
def mld():
    ends = bytes.fromhex('fe80' + 13 * '00' + '01' + 'ff02' + 13 * '00' + '01')
    report = bytes([131, 0, 0, 0, 0, 0, 0, 0]) + ends[16:]
    report = report[:2] + checksum(ends + struct.pack('!IxxxB', len(report), 58) + report) + report[4:]
    return ethernet(0x86dd, struct.pack('!IHBB', 6 << 28, 8 + len(report), 0, 1) + ends + bytes([58, 0, 5, 2, 0, 0, 1, 0]) + report)
def udp(total):
    return ipv4(17, struct.pack('!HHHH', 4000, 5000, 12, total) + b'data')
tcp = ipv4(6, struct.pack('!HHIIBBHHH', 4000, 80, 1, 2, 0x50, 0x10, 1000, 0x1234, 0) + b'data')
for name, frame in ('UDP with a checksum', udp(0xefe8)), ('UDP without', udp(0)), ('TCP with a wrong checksum', tcp), ('MLD', mld()):
    copy = bytes(EthDecoder().decode(frame).get_packet())
    different = [i for i, (a, b) in enumerate(zip(frame, copy, strict=True)) if a != b]
    print('%s: %s' % (name, ', '.join('byte %d was %02x, is %02x' % (i, frame[i], copy[i]) for i in different) or 'the same'))
PY
seen=$(PYTHONPATH=usr/lib/python3/dist-packages python3 copy.py)
printf 'impacket %s: bytes that were read and written, expected the same:\n%s\n' "$version" "$seen"
[ "$seen" = "UDP with a checksum: the same
UDP without: byte 40 was 00, is ef, byte 41 was 00, is e8
TCP with a wrong checksum: byte 50 was 12, is af, byte 51 was 34, is 30
MLD: byte 56 was 05, is 01" ]

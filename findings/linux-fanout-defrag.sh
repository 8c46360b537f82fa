#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a group of packet sockets with PACKET_FANOUT_FLAG_DEFRAG, which keeps the fragments of a datagram
#        together, receives or counts each fragment that the interface received.
# Is:    fragments of an incomplete datagram are neither delivered nor counted: 0 packets, 0 drops. A
#        complete datagram comes as a single frame that is longer than any on the wire, counted as 1, and
#        a second copy of each fragment is gone. A socket beside the group receives all.
# Why:   a monitor in such a group has fewer packets than its twin, other lengths, and no counter that says
#        why. Where a mirror copies fragments, the kernel has removed copies before anybody counts.
set -euo pipefail
[ "$(uname -s) $(id -u)" = "Linux 0" ] && unshare -n true 2>/dev/null || { echo "this needs Linux, and root"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >group.py <<'PY'
import socket, struct
PACKET, STATISTICS, FANOUT, HASH, DEFRAG = 263, 6, 18, 0, 0x8000
def receiver():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind(('tap', 0x800))
    s.settimeout(0.3)
    return s
def received(s):
    lengths = []
    try:
        while True:
            lengths.append(len(s.recv(65535)))
    except TimeoutError:
        return '%s, counted %d, dropped %d' % (lengths, *struct.unpack('II', s.getsockopt(PACKET, STATISTICS, 8)))
datagram = struct.pack('>HHHH', 4000, 5000, 8 + 4000, 0) + bytes(4000)
def fragment(number, i):
    data = datagram[1480 * i:1480 * (i + 1)]
    h = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(data), number, (0x2000 if i < 2 else 0) | 185 * i, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    return bytes.fromhex('020000000002' '020000000001' '0800') + h[:10] + struct.pack('>H', ~((total & 0xffff) + (total >> 16)) & 0xffff) + h[12:] + data
alone, group = receiver(), receiver()
group.setsockopt(PACKET, FANOUT, struct.pack('I', 1 | (HASH | DEFRAG) << 16))
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(('wire', 0))
for number, (name, parts) in enumerate([('whole', [0, 1, 2]), ('without the last', [0, 1]), ('twice', [0, 0, 1, 1, 2, 2])]):
    for i in parts:
        wire.send(fragment(number + 1, i))
    print('%s: alone %s; group %s' % (name, received(alone), received(group)))
PY
seen=$(unshare -n sh -c 'sysctl -qw net.ipv6.conf.default.disable_ipv6=1 2>/dev/null
	ip link add wire type veth peer name tap && ip link set wire up && ip link set tap up && python3 group.py' 2>/dev/null) || { echo "this needs veth"; exit 2; }
echo "Linux $(uname -r), lengths of frames:"
echo "$seen"
[ "$seen" = "whole: alone [1514, 1514, 1082], counted 3, dropped 0; group [4042], counted 1, dropped 0
without the last: alone [1514, 1514], counted 2, dropped 0; group [], counted 0, dropped 0
twice: alone [1514, 1514, 1514, 1514, 1082, 1082], counted 6, dropped 0; group [4042], counted 1, dropped 0" ]

# SPDX-License-Identifier: Apache-2.0
"""Sends what two ends captured to a target, as the traffic mirrors of clouds do.

Each end is a mirror session with a VNI of its own. The mirror cuts a frame so that the
packet around it fits the MTU of the target.
"""

import random
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

import records

MTU = 1500
TARGET = "10.30.0.9"
SOURCES = ("10.30.0.1", "10.30.0.2")
ETHERNET = bytes.fromhex("020000003009 020000003001 0800")
TRANSPARENT_ETHERNET = 0x6558


class Tunnel(NamedTuple):
    port: int
    vnis: tuple      # of the two ends
    header: Callable  # of a VNI


def vxlan_header(vni):
    """RFC 7348, section 5."""
    return struct.pack(">II", 0x08000000, vni << 8)


def geneve_header(vni):
    """RFC 8926, section 3.4, with one option of four bytes."""
    option = struct.pack(">HBBI", 0x0110, 1, 1, 0xC0FFEE)
    return struct.pack(">BBHI", len(option) // 4, 0, TRANSPARENT_ETHERNET, vni << 8) + option


VXLAN = Tunnel(4789, (7001, 7002), vxlan_header)
GENEVE = Tunnel(6081, (8001, 8002), geneve_header)


def write(path, taps, ends, tunnel, jitter):
    """Writes the mirrored packets of all ends in order of arrival, and returns what they carry.

    taps: the records of each end. jitter: nanoseconds that a packet is late at most.
    """
    late = random.Random(1)
    arrived = []
    for session, end in enumerate(ends):
        for number, record in enumerate(taps[end]):
            header = tunnel.header(tunnel.vnis[session])
            inner = record.data[:MTU - 20 - 8 - len(header)]
            ports = 0xC000 | flow(record) & 0x3FFF, tunnel.port
            outer = ETHERNET + packet(SOURCES[session], number, ports, header + inner)
            arrival = record.time + late.randint(0, jitter)
            arrived.append((record._replace(time=arrival, data=inner, interface=end, sent=record.time), outer))
    arrived.sort(key=lambda pair: pair[0].time)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, records.ETHERNET))
        for record, outer in arrived:
            file.write(struct.pack("<IIII", *divmod(record.time, 10**9), len(outer), len(outer)) + outer)
    return [record._replace(number=number) for number, (record, _) in enumerate(arrived)]


def flow(record):
    """Returns a hash of a frame's conversation, by which balancers spread what is mirrored."""
    datagram = records.ip_datagram(record)
    return zlib.crc32(repr(datagram and records.ports(datagram)).encode())


def packet(source, number, ports, payload):
    """Returns the IPv4 and UDP headers of the mirror, and what they carry."""
    datagram = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
    header = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(datagram), number & 0xFFFF, 0x4000, 64, 17, 0,
                                   ipv4(source), ipv4(TARGET)))
    struct.pack_into(">H", header, 10, checksum(header))
    return bytes(header) + datagram


def ipv4(address):
    return bytes(map(int, address.split(".")))


def checksum(header):
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

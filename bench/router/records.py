# SPDX-License-Identifier: Apache-2.0
"""Reads the captures that the lab makes: pcap, pcapng, gzip, little-endian."""

import gzip
import struct
from typing import NamedTuple

ETHERNET, RAW, SLL, SLL2 = 1, 101, 113, 276
OUTGOING = 4  # PACKET_OUTGOING of linux/if_packet.h
TAGS = (0x8100, 0x88A8)
CHECKSUMS = {6: 16, 17: 6}  # of TCP and UDP, from the start of their header


class Record(NamedTuple):
    number: int     # from 0, in file order
    time: int       # nanoseconds since 1970
    interface: str  # if_name in pcapng, else the file's stem
    link: int
    data: bytes
    sent: int = 0   # of a mirrored frame: nanoseconds since 1970 at the end that saw it


def read(path):
    """Returns the records of a capture file."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        content = file.read()
    magic, = struct.unpack_from("<I", content)
    if magic == 0x0A0D0D0A:
        return list(read_pcapng(content))
    scale = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[magic]
    stem = path.rsplit("/", 1)[-1].split(".")[0]
    return list(read_pcap(content, scale, stem))


def read_pcap(content, scale, name):
    link, = struct.unpack_from("<I", content, 20)
    offset = 24
    number = 0
    while offset < len(content):
        seconds, fraction, caplen, _ = struct.unpack_from("<IIII", content, offset)
        offset += 16
        yield Record(number, seconds * 10**9 + fraction * scale, name, link,
                     content[offset:offset + caplen])
        offset += caplen
        number += 1


def read_pcapng(content):
    interfaces = []
    number = 0
    for _, kind, body in blocks(content):
        if kind == 1:
            interfaces.append(read_interface(body))
        elif kind == 6:
            index, high, low, caplen, _ = struct.unpack_from("<IIIII", body)
            name, link, ticks = interfaces[index]
            yield Record(number, (high << 32 | low) * (10**9 // ticks), name, link, body[20:20 + caplen])
            number += 1


def blocks(content):
    """Yields offset, type and body of each pcapng block."""
    offset = 0
    while offset < len(content):
        kind, length = struct.unpack_from("<II", content, offset)
        yield offset, kind, content[offset + 8:offset + length - 4]
        offset += length


def read_interface(body):
    link, = struct.unpack_from("<H", body)
    name, ticks, offset = "", 10**6, 8
    while offset + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, offset)
        value = body[offset + 4:offset + 4 + length]
        if code == 2:
            name = value.decode()
        elif code == 9:
            ticks = 10 ** value[0]
        offset += 4 + (length + 3 & ~3)
    return name, link, ticks


def anonymize(path):
    """Drops what a pcapng section header says of the machine (all its options)."""
    with open(path, "rb") as file:
        content = file.read()
    length, = struct.unpack_from("<I", content, 4)
    header = struct.pack("<I", 28) + content[8:24] + struct.pack("<I", 28)
    with open(path, "wb") as file:
        file.write(content[:4] + header + content[length:])


def ip_datagram(record):
    """Returns the IP datagram that a frame carries, or None."""
    data = record.data
    if record.link == RAW:
        return data
    if record.link == SLL2:
        ethertype, = struct.unpack_from(">H", data)
        offset = 20
    elif record.link == SLL:
        ethertype, = struct.unpack_from(">H", data, 14)
        offset = 16
    else:
        offset = 12
        ethertype, = struct.unpack_from(">H", data, offset)
        while ethertype in TAGS:
            offset += 4
            ethertype, = struct.unpack_from(">H", data, offset)
        offset += 2
    return data[offset:] if ethertype in (0x0800, 0x86DD) else None


def sender(record):
    """Returns the link layer's source address."""
    if record.link == SLL2:
        return record.data[12:18]
    return record.data[6:12]  # in Ethernet and SLL headers alike


def untagged(record):
    """What two sightings of a frame without IP share: all but VLAN tags."""
    data = record.data
    if record.link != ETHERNET:
        return data
    offset = 12
    while struct.unpack_from(">H", data, offset)[0] in TAGS:
        offset += 4
    return data[:12] + data[offset:]


def masked(datagram):
    """What two sightings of one datagram share: all but hop count and checksum."""
    datagram = bytearray(datagram)
    if datagram[0] >> 4 == 4:
        end, = struct.unpack_from(">H", datagram, 2)
        datagram[1] = datagram[8] = datagram[10] = datagram[11] = 0
    else:
        end = 40 + struct.unpack_from(">H", datagram, 4)[0]
        datagram[0], datagram[1] = 0x60, datagram[1] & 0x0F
        datagram[7] = 0
    return bytes(datagram[:end])


def transport(datagram):
    """Returns the protocol and the offset of the transport header, which later fragments have not."""
    if datagram[0] >> 4 == 4:
        fragment, = struct.unpack_from(">H", datagram, 6)
        return (datagram[9], (datagram[0] & 15) * 4) if fragment & 0x1FFF == 0 else (None, 0)
    protocol, offset = datagram[6], 40
    if protocol == 44:
        fragment, = struct.unpack_from(">H", datagram, 42)
        protocol, offset = (datagram[40], 48) if fragment >> 3 == 0 else (None, 0)
    return protocol, offset


def ports(datagram):
    """Returns the protocol and the ports of TCP and UDP, else None."""
    protocol, offset = transport(datagram)
    if protocol not in CHECKSUMS:
        return None
    return protocol, *struct.unpack_from(">HH", datagram, offset)


def masked_checksum(datagram):
    """What two sightings share where a network card fills in the checksum between them."""
    protocol, offset = transport(datagram)
    datagram = bytearray(masked(datagram))
    if protocol in CHECKSUMS:
        at = offset + CHECKSUMS[protocol]
        datagram[at:at + 2] = bytes(2)
    return bytes(datagram)

# SPDX-License-Identifier: Apache-2.0
"""Two readers of captures: tshark's fields, and a reader of a few headers."""

import hashlib
import ipaddress
import os
import struct
import subprocess
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "router"))
import records as captures  # noqa: E402

TUNNELS = {4789: "vxlan", 6081: "geneve"}
FIELDS = ["frame.interface_id", "frame.protocols", "vlan.id", "vxlan.vni", "geneve.vni",
          "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport",
          "udp.srcport", "udp.dstport"]


class Sighting(NamedTuple):
    """What an analyzer makes its flow key of; protocol is 0 where there are no ports."""
    interface: str
    vlan: tuple = ()
    vni: int = 0
    family: int = 0
    protocol: int = 0
    source: tuple = ()
    target: tuple = ()
    datagram: tuple = ()  # of a fragment, by the reader of this file: which one it is a part of


def records(path):
    """Returns the records of a capture, with the lengths of the frames."""
    return captures.read(path)


def sightings(path, inner, reader, known=None):
    """Yields a sighting for each record of a capture."""
    return by_tshark(path, inner, known) if reader == "tshark" else by_python(path, inner)


# tshark


def printed(command, path, known):
    """Returns what a command prints about a capture, kept in the folder known unless that is
    None. Many outputs have the same packets, and tshark starts slowly."""
    digest = hashlib.sha256(repr(command).encode())
    with open(path, "rb") as file:
        digest.update(file.read())
    place = known and os.path.join(known, digest.hexdigest())
    if place and os.path.exists(place):
        with open(place, encoding="utf-8") as file:
            return file.read()
    output = subprocess.run([*command, "-r", path], check=True, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout
    if place:
        own = f"{place}-{os.getpid()}"
        with open(own, "w", encoding="utf-8") as file:
            file.write(output)
        os.rename(own, place)
    return output


def by_tshark(path, inner, known):
    command = ["tshark", "-n", "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE",
               "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,", "-E", "separator=/t"]
    for field in FIELDS:
        command += ["-e", field]
    for line in printed(command, path, known).splitlines():
        values = [value.split(",") if value else [] for value in line.split("\t")]
        yield from_fields(dict(zip(FIELDS, values)), inner)


def from_fields(of, inner):
    """Makes a sighting of tshark's fields, each a list of values, the outermost first."""
    protocols = of["frame.protocols"][0].split(":")
    vnis = [number(value) for value in of["vxlan.vni"] + of["geneve.vni"]]
    at = 0
    if vnis and inner:
        at = 1 + max(protocols.index(name) for name in TUNNELS.values() if name in protocols)
    tags = tuple(int(value) for value in of["vlan.id"])
    seen = Sighting(",".join(of["frame.interface_id"]), tags, vnis[0] if vnis else 0)
    headers = [name for name in protocols[at:] if name in ("ip", "ipv6", "tcp", "udp", "icmp", "icmpv6")]
    if len(headers) < 2 or headers[1] not in ("tcp", "udp"):
        return seen
    family, protocol = headers[:2]
    depth = sum(name == family for name in protocols[:at])
    port = sum(name == protocol for name in protocols[:at])
    ends = [(of[f"{family}.{side}"][depth], int(of[f"{protocol}.{side}port"][port])) for side in ("src", "dst")]
    return seen._replace(family=6 if family == "ipv6" else 4, protocol={"tcp": 6, "udp": 17}[protocol],
                         source=ends[0], target=ends[1])


def number(value):
    return int(value, 0)


# A reader of Ethernet, raw IP, VLAN tags, IP, VXLAN and GENEVE


def by_python(path, inner):
    for record in captures.read(path):
        seen, datagram = opened(record)
        if inner:
            tunnel = carried(datagram)
            if tunnel:
                vni, data = tunnel
                below, datagram = opened(record._replace(link=captures.ETHERNET, data=data))
                seen = below._replace(vlan=seen.vlan + below.vlan, vni=vni)
        else:
            tunnel = carried(datagram)
            seen = seen._replace(vni=tunnel[0]) if tunnel else seen
        yield with_ends(seen, datagram)


def opened(record):
    """Returns the capture point of a record, and its IP datagram or None."""
    tags = ()
    if record.link == captures.ETHERNET:
        tags = tuple(struct.unpack_from(">H", record.data, offset)[0] & 0xFFF for offset in tag_offsets(record.data))
    return Sighting(record.interface, tags), captures.ip_datagram(record)


def tag_offsets(frame):
    """Returns where the tag control information of each VLAN tag is."""
    offset = 12
    offsets = []
    while struct.unpack_from(">H", frame, offset)[0] in captures.TAGS:
        offsets.append(offset + 2)
        offset += 4
    return offsets


def carried(datagram):
    """Returns the VNI and the frame inside VXLAN or GENEVE, else None."""
    ports = datagram and captures.ports(datagram)
    if not ports or ports[0] != 17 or ports[2] not in TUNNELS:
        return None
    _, offset = captures.transport(datagram)
    tunnel = datagram[offset + 8:]
    length = 8
    if TUNNELS[ports[2]] == "geneve":
        length += (tunnel[0] & 0x3F) * 4
    vni, = struct.unpack_from(">I", tunnel, 4)
    return vni >> 8, tunnel[length:]


def with_ends(seen, datagram):
    if not datagram:
        return seen
    seen = seen._replace(datagram=whole(datagram))
    ports = captures.ports(datagram)
    if not ports:
        return seen
    family = datagram[0] >> 4
    begin, size = (12, 4) if family == 4 else (8, 16)
    addresses = [datagram[begin + i * size:][:size] for i in range(2)]
    return seen._replace(family=family, protocol=ports[0], source=(text(addresses[0]), ports[1]),
                         target=(text(addresses[1]), ports[2]))


def whole(datagram):
    """Returns what all fragments of a datagram have in common, () if this is none."""
    if datagram[0] >> 4 == 4:
        part, = struct.unpack_from(">H", datagram, 6)
        return (datagram[12:20], datagram[9], datagram[4:6]) if part & 0x3FFF else ()
    return (datagram[8:40], datagram[44:48]) if datagram[6] == 44 else ()


def text(address):
    """Returns an address as tshark writes it."""
    return str(ipaddress.ip_address(address))


# Changed captures


def stripped(record, what):
    """Returns the bytes of a record without its VLAN tags, or without its tunnel."""
    if what == "vlan" and record.link == captures.ETHERNET:
        return captures.untagged(record)
    if what == "tunnel":
        tunnel = carried(captures.ip_datagram(record))
        return tunnel[1] if tunnel else record.data
    return record.data


def write_without(source, target, removed):
    """Copies a capture without the records with these numbers."""
    with open(source, "rb") as file:
        content = file.read()
    with open(target, "wb") as file:
        for part in parts(content):
            if part.number not in removed:
                file.write(content[part.start:part.end])


class Part(NamedTuple):
    """A part of a capture file; its number is that of its record, -1 if it is none."""
    start: int
    end: int
    number: int


def parts(content):
    if struct.unpack_from("<I", content)[0] == 0x0A0D0D0A:
        yield from pcapng_parts(content)
        return
    yield Part(0, 24, -1)
    offset, count = 24, 0
    while offset < len(content):
        end = offset + 16 + struct.unpack_from("<I", content, offset + 8)[0]
        yield Part(offset, end, count)
        offset, count = end, count + 1


def pcapng_parts(content):
    count = 0
    for offset, kind, body in captures.blocks(content):
        is_packet = kind == 6
        yield Part(offset, offset + 12 + len(body), count if is_packet else -1)
        count += is_packet

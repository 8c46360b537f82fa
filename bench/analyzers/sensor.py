# SPDX-License-Identifier: Apache-2.0
"""Judges what a sensor makes of captures; shares no code with the command.

    sensor.py sees FILE [--vlan] [--checksums] [--no-8021ad]
    sensor.py once TRUTH OUTPUT
    sensor.py alone TRUTH OUTPUT

--known FOLDER before the command keeps what tshark printed, for the next run.

sees counts what a sensor finds. A TCP flow is a connection; with --vlan its VLAN tags are a
part of it (as Suricata keys flows). With --checksums the sensor drops packets with wrong TCP
and UDP checksums. With --no-8021ad it opens no frame behind an 802.1ad tag. HTTP requests and
TLS handshakes are found in flows whose three-way handshake is there. tshark dissects and
verifies checksums; packets come in the order of their times.

once writes each packet of a capture with a truth file once, as a good tap shows it: a copy
with a right checksum if there is one, without VLAN tags and tunnels. alone writes what the
point that saw most packets saw alone.
"""

import argparse
import functools
import json
import os
import struct
import sys
import tempfile
from collections import Counter, defaultdict

import readers

FIELDS = ["frame.protocols", "ip.src", "ipv6.src", "tcp.srcport", "tcp.stream", "tcp.flags", "tcp.checksum.status",
          "udp.checksum.status", "http.request.method", "tls.handshake.type"]
SYN, ACK = 0x02, 0x10
BAD, GOOD = "0", "1"  # of the fields *.checksum.status
CLIENT_HELLO = "1"
DOUBLE_TAG = 0x88A8


def write(path, records):
    """Writes records as a capture."""
    with open(path, "wb") as file:
        link = records[0].link if records else 1
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link))
        for record in records:
            lengths = len(record.data), original(record)
            file.write(struct.pack("<IIII", record.time // 10**9, record.time % 10**9, *lengths) + record.data)


def original(record):
    """Returns the length of a frame before it was cut, by its IP header."""
    datagram = readers.captures.ip_datagram(record)
    if not datagram or len(datagram) < 6:
        return len(record.data)
    size = struct.unpack_from(">H", datagram, 2)[0] if datagram[0] >> 4 == 4 else 40 + struct.unpack_from(">H", datagram, 4)[0]
    return max(len(record.data), len(record.data) - len(datagram) + size)


def dissected(records, folder):
    """Returns the fields of each record; of each field the innermost value."""
    path = os.path.join(folder, f"part-{os.getpid()}.pcap")
    write(path, records)
    command = ["tshark", "-n", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
               "-T", "fields", "-E", "occurrence=l", "-E", "separator=/t"]
    for field in FIELDS:
        command += ["-e", field]
    return [dict(zip(FIELDS, line.split("\t"))) for line in readers.printed(command, path, folder).splitlines()]


def checksum(fields):
    """Returns the state of the checksum of the innermost TCP or UDP header, "" for neither."""
    names = fields["frame.protocols"].split(":")
    if "icmp" in names or "icmpv6" in names:
        return ""
    inner = [name for name in names if name in ("tcp", "udp")]
    return fields[inner[-1] + ".checksum.status"] if inner else ""


def tags(record):
    """Returns the VLAN tags of a record, each with its type."""
    if record.link != readers.captures.ETHERNET:
        return ()
    return tuple(struct.unpack_from(">HH", record.data, offset - 2) for offset in readers.tag_offsets(record.data))


def parts(records, vlan, no_8021ad):
    """Returns what a sensor opens, out of tunnels, by the VLAN that is a part of its flows."""
    by_vlan = defaultdict(list)
    for record in sorted(records, key=lambda record: record.time):
        found = tags(record)
        inner = record._replace(data=readers.stripped(record, "tunnel"))
        if inner != record:
            found, record = found + tags(inner), inner
        if not (no_8021ad and found and found[0][0] == DOUBLE_TAG):
            by_vlan[tuple(number & 0xFFF for _, number in found) if vlan else ()].append(record)
    return by_vlan.values()


def sees(path, args, folder):
    """Counts what a sensor finds in a capture."""
    answer = Counter(dict.fromkeys(("packets", "valid", "wrong", "two_sided", "one_sided", "http", "tls"), 0))
    records = readers.records(path)
    answer["packets"] = len(records)
    for part in parts(records, args.vlan, args.no_8021ad):
        packets = dissected(part, folder)
        states = [checksum(fields) for fields in packets]
        answer["valid"] += states.count(GOOD)
        answer["wrong"] += states.count(BAD)
        if args.checksums and BAD in states:
            packets = dissected([record for record, state in zip(part, states) if state != BAD], folder)
        answer.update(flows(packets))
    return answer


def flows(packets):
    """Counts TCP flows, and what is found in them."""
    streams = defaultdict(list)
    for fields in packets:
        if fields["tcp.stream"] and "icmp" not in fields["frame.protocols"]:
            streams[fields["tcp.stream"]].append(fields)
    found = Counter()
    for stream in streams.values():
        sides = defaultdict(set)
        for fields in stream:
            sides[fields["ip.src"] + fields["ipv6.src"], fields["tcp.srcport"]].add(int(fields["tcp.flags"], 16) & (SYN | ACK))
        found["two_sided" if len(sides) == 2 else "one_sided"] += 1
        if established(list(sides.values())):
            found["http"] += sum(fields["http.request.method"] != "" for fields in stream)
            found["tls"] += any(fields["tls.handshake.type"] == CLIENT_HELLO for fields in stream)
    return found


def established(sides):
    """Reports whether a flow has the three packets that open a connection."""
    return len(sides) == 2 and any({SYN, ACK} <= client and SYN | ACK in server for client, server in (sides, sides[::-1]))


@functools.cache
def truth_of(path):
    return Truth(path)


class Truth:
    """Captures and their answer."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            answer = json.load(file)
        folder = os.path.dirname(path)
        self.inner = answer["identity"] == "inner"
        records = [record for name in answer["files"] for record in readers.records(os.path.join(folder, name))]
        self.records = sorted(records, key=lambda record: record.time) if len(answer["files"]) > 1 else records
        gone = set(answer["removed"])
        self.packets = answer.get("sightings") or [[n] for n in range(len(self.records)) if n not in gone]

    def once(self, folder):
        """Returns each packet once."""
        states = [checksum(fields) for fields in dissected(self.records, folder)]
        kept = [min(group, key=lambda n: (states[n] == BAD, n)) for group in self.packets]
        plain = [readers.stripped(self.records[n], "tunnel" if self.inner else "vlan") for n in kept]
        return [self.records[n]._replace(data=data) for n, data in zip(kept, plain)]

    def alone(self, _folder):
        """Returns the records of one point."""
        points = defaultdict(list)
        for record in self.records:
            tunnel = readers.carried(readers.captures.ip_datagram(record))
            points[record.interface, tags(record), tunnel and tunnel[0]].append(record)
        return max(points.values(), key=len)


@functools.cache
def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    look = commands.add_parser("sees")
    look.add_argument("file")
    for flag in ("--vlan", "--checksums", "--no-8021ad"):
        look.add_argument(flag, action="store_true")
    for name in ("once", "alone"):
        reference = commands.add_parser(name)
        reference.add_argument("truth")
        reference.add_argument("output")
    parser.add_argument("--known", metavar="FOLDER")
    return parser


def answered(line):
    """Returns the answer to a command line."""
    args = command_line().parse_args(line)
    with tempfile.TemporaryDirectory() as own:
        return answer(args, args.known or own)


def answer(args, folder):
    if args.command == "sees":
        return sees(args.file, args, folder)
    truth = truth_of(args.truth)
    records = sorted(getattr(truth, args.command)(folder), key=lambda record: record.time)
    write(args.output, records)
    return {"packets": len(records)}


if __name__ == "__main__":
    print(json.dumps(answered(sys.argv[1:])))

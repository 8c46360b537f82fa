# SPDX-License-Identifier: Apache-2.0
"""Judges captures as an analyzer sees them; shares no code with the command.

    judge.py flows FILE [--key PART,...] [--inner] [--reader tshark|python]
    judge.py kept  TRUTH FILE [--input FILE] [--strip vlan|tunnel]
    judge.py thin  TRUTH FILE [--every N]

flows counts the TCP and UDP flows of a capture, keyed by the five-tuple and the parts
that --key names: vlan (all tags), vni, interface. A flow is two-sided if both directions
have packets. --inner takes the innermost addresses.

kept checks what was kept of a capture with a truth file: each packet once, as one of its
copies, in order of time. --input names what was read instead of the capture itself: a
part of its records. --strip names what was taken off the kept packets.

thin writes a capture without the home copy of every Nth packet of each conversation. Home
is where the first packet of a conversation was seen first.

All print JSON. --known FOLDER before the command keeps what tshark printed, for the next run.
"""

import argparse
import functools
import json
import os
import sys
from collections import defaultdict

import readers

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILIES = {4: "ipv4", 6: "ipv6"}
PROTOCOLS = {6: "tcp", 17: "udp"}


def flows(path, key, inner, reader, known):
    """Counts conversations and the flows that they are taken for."""
    directions, parts = defaultdict(set), defaultdict(set)
    packets = 0
    for seen in readers.sightings(path, inner, reader, known):
        packets += 1
        if seen.protocol not in PROTOCOLS:
            continue
        conversation = (seen.family, seen.protocol, *sorted([seen.source, seen.target]))
        flow = conversation + tuple(getattr(seen, part) for part in key)
        directions[flow].add(seen.source)
        parts[conversation].add(flow)
    answer = {"packets": packets}
    for family, version in FAMILIES.items():
        for number, protocol in PROTOCOLS.items():
            counted = [sources for flow, sources in directions.items() if flow[:2] == (family, number)]
            split = [of for conversation, of in parts.items() if conversation[:2] == (family, number)]
            answer[f"{version} {protocol}"] = {
                "conversations": len(split), "split": sum(len(of) > 1 for of in split),
                "two_sided": sum(len(sources) == 2 for sources in counted),
                "one_sided": sum(len(sources) == 1 for sources in counted)}
    return answer


@functools.cache
def truth_of(path):
    return Truth(path)


class Truth:
    """A capture and its answer: the records that show each packet."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            answer = json.load(file)
        if len(answer["files"]) != 1 or "sightings" not in answer:
            sys.exit(f"{path}: one file with sightings is needed")
        self.inner = answer["identity"] == "inner"
        self.path = os.path.join(os.path.dirname(path), answer["files"][0])
        self.records = readers.records(self.path)
        self.packets = answer["sightings"]
        self.packet = {number: index for index, group in enumerate(self.packets) for number in group}
        self.seen = list(readers.sightings(self.path, self.inner, "python"))

    def conversation(self, number):
        """Returns the conversation of a record, None if it is not one of TCP or UDP."""
        seen = self.seen[number]
        if seen.protocol not in PROTOCOLS:
            return None
        return (seen.protocol, *sorted([seen.source, seen.target]))

    def point(self, number):
        seen = self.seen[number]
        return (seen.vlan, seen.vni, seen.interface)

    def homes(self):
        """Returns the point at which the first packet of each conversation was seen first."""
        homes = {}
        for number in range(len(self.records)):
            homes.setdefault(self.conversation(number), self.point(number))
        return homes

    def away(self, numbers):
        """Returns how many of these records were not seen at the home of their conversation."""
        homes = self.homes()
        return sum(self.conversation(n) is not None and self.point(n) != homes[self.conversation(n)] for n in numbers)

    def torn(self, numbers):
        """Returns how many datagrams have fragments among these records from several points."""
        points = defaultdict(set)
        for number in numbers:
            points[self.seen[number].datagram].add(self.point(number))
        points.pop((), None)
        return sum(len(of) > 1 for of in points.values())


def kept(truth, path, read, strip):
    """Looks each kept packet up among the records that were read."""
    known = defaultdict(list)
    for number, record in enumerate(truth.records):
        known[record.time, record.data].append(number)
    came = range(len(truth.records))
    if read:
        came = [known[record.time, record.data].pop() for record in readers.records(read)]
    forms = defaultdict(list)
    for number in came:
        record = truth.records[number]
        forms[record.time, readers.stripped(record, strip)].append(number)
    counts = dict.fromkeys((truth.packet[number] for number in came), 0)
    found, unknown, backwards, latest = [], 0, 0, 0
    for record in readers.records(path):
        backwards += record.time < latest
        latest = max(latest, record.time)
        candidates = forms[record.time, record.data]
        if not candidates:
            unknown += 1
            continue
        found.append(candidates.pop())
        counts[truth.packet[found[-1]]] += 1
    return {"packets": len(found) + unknown, "unknown": unknown, "backwards": backwards,
            "missing": sum(count == 0 for count in counts.values()),
            "twice": sum(count > 1 for count in counts.values()),
            "away": truth.away(found), "torn": truth.torn(found)}


def thin(truth, path, every):
    """Writes the capture without every so many home copies that have other copies."""
    homes, packets, removed = truth.homes(), defaultdict(int), set()
    for group in truth.packets:
        conversation = truth.conversation(group[0])
        home = [number for number in group if truth.point(number) == homes[conversation]]
        if conversation is None or not home or len(home) == len(group):
            continue
        packets[conversation] += 1
        if packets[conversation] % every == 0:
            removed.update(home)
    readers.write_without(truth.path, path, removed)
    return {"packets": len(truth.records) - len(removed), "removed": len(removed)}


@functools.cache
def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    count = commands.add_parser("flows")
    count.add_argument("file")
    count.add_argument("--key", default="", help="parts of the key beside the five-tuple")
    count.add_argument("--inner", action="store_true")
    count.add_argument("--reader", choices=("tshark", "python"), default="python")
    check = commands.add_parser("kept")
    check.add_argument("truth")
    check.add_argument("file")
    check.add_argument("--input")
    check.add_argument("--strip", choices=("vlan", "tunnel"))
    less = commands.add_parser("thin")
    less.add_argument("truth")
    less.add_argument("file")
    less.add_argument("--every", type=int, default=10)
    parser.add_argument("--known", metavar="FOLDER")
    return parser


def answered(line):
    """Returns the answer to a command line."""
    args = command_line().parse_args(line)
    if args.command == "flows":
        return flows(args.file, [part for part in args.key.split(",") if part], args.inner, args.reader, args.known)
    if args.command == "kept":
        return kept(truth_of(args.truth), args.file, args.input, args.strip)
    return thin(truth_of(args.truth), args.file, args.every)


if __name__ == "__main__":
    print(json.dumps(answered(sys.argv[1:])))

# SPDX-License-Identifier: Apache-2.0
"""Finds the records of a router's capture that show a packet again.

The answer comes from where packets were seen, not from what is in them. All
programs of the lab run on one CPU, so the router keeps their packets in order:
the k-th frame that came in on a trunk is the k-th that came in on its VLAN
interface, and the k-th of those that the router had to forward is the k-th
that left on the other side with an address that is not the router's. Each such
row of sightings is one packet; its first record in file order is kept and the
others are removed.

check() then finds the answer a second time, from contents and times alone, and
refuses a capture in which the two differ or in which a packet's copies come so
late, or equal packets so close together, that the window decides by chance.
"""

import ipaddress
import itertools
import json
from collections import defaultdict

import records

WINDOW = 1_000_000       # nanoseconds
LATEST_COPY = 800_000    # a copy must lie well inside the window
EARLIEST_REPEAT = 3_000_000  # and a repeated packet well outside
NEVER = 1 << 62


class Unusable(Exception):
    """The capture is unusable: traffic was lost, or came too close together."""


def addresses(datagram):
    """Returns source, destination and hop limit."""
    if datagram[0] >> 4 == 4:
        return (ipaddress.ip_address(datagram[12:16]), ipaddress.ip_address(datagram[16:20]), datagram[8])
    return (ipaddress.ip_address(datagram[8:24]), ipaddress.ip_address(datagram[24:40]), datagram[7])


class Router:
    """What is known of the router without looking at a capture.

    sides: for each side the names of its captured interfaces, from the wire to
    the IP stack. macs: its link addresses. ips: its IP addresses.
    """

    def __init__(self, sides, macs, ips):
        self.sides = sides
        self.macs = {bytes.fromhex(mac.replace(":", "")) for mac in macs}
        self.ips = {ipaddress.ip_address(ip) for ip in ips}

    def forwards(self, record):
        """Reports whether the router forwards the packet of an incoming frame."""
        datagram = records.ip_datagram(record)
        if datagram is None:
            return False
        _, destination, hops = addresses(datagram)
        local = destination.is_multicast or destination.is_link_local or destination in self.ips
        return hops > 1 and not local

    def forwarded(self, record):
        """Reports whether the packet of an outgoing frame was forwarded."""
        datagram = records.ip_datagram(record)
        if datagram is None:
            return False
        source = addresses(datagram)[0]
        return source not in self.ips and not source.is_link_local and not source.is_unspecified

    def sightings(self, captured):
        """Groups records into packets: lists of (record, side)."""
        came, left = defaultdict(list), defaultdict(list)
        for record in captured:
            out = records.sender(record) in self.macs
            (left if out else came)[record.interface].append(record)
        packets = Groups()
        for side, path in enumerate(self.sides):
            for name in path:
                packets.place(came[name] + left[name], side)
            for outer, inner in zip(path, path[1:]):
                packets.join(came[outer], came[inner])
                packets.join(left[inner], left[outer])
        for one, other in ((0, 1), (1, 0)):
            packets.join([r for r in came[self.sides[one][-1]] if self.forwards(r)],
                         [r for r in left[self.sides[other][-1]] if self.forwarded(r)])
        return packets.lists()


class Ends:
    """What is known of two ends with a router between them, captured at the ends.

    addresses: of each end its IP addresses, by the name that its records have. macs: the
    link addresses of the router.
    """

    def __init__(self, ends, macs):
        self.ends = {name: {ipaddress.ip_address(ip) for ip in ips} for name, ips in ends.items()}
        self.macs = {bytes.fromhex(mac.replace(":", "")) for mac in macs}

    def crosses(self, record, source, target):
        """Reports whether a frame has a packet that crosses the router from one end to the other."""
        datagram = records.ip_datagram(record)
        if datagram is None:
            return False
        sender, destination, hops = addresses(datagram)
        passed = records.sender(record) in self.macs
        return sender in self.ends[source] and destination in self.ends[target] and (passed or hops > 1)

    def sightings(self, captured):
        """Groups records into packets: lists of (record, end)."""
        packets = Groups()
        for end in self.ends:
            packets.place([r for r in captured if r.interface == end], end)
        for source, target in itertools.permutations(self.ends):
            crossing = [r for r in captured if self.crosses(r, source, target)]
            # The order of the capture may be that of a balancer, the numbers at the end are not.
            crossing.sort(key=lambda record: record.sent)
            packets.join([r for r in crossing if r.interface == source],
                         [r for r in crossing if r.interface == target])
        return packets.lists()


class Groups:
    """Sightings joined into packets, by record number."""

    def __init__(self):
        self.group = {}

    def place(self, captured, side):
        for record in captured:
            self.group[record.number] = [(record, side)]

    def join(self, before, after):
        if len(before) != len(after):
            raise Unusable(f"{len(before)} packets went in and {len(after)} came out")
        for one, other in zip(before, after):
            merged = self.group[one.number] + self.group[other.number]
            for record, _ in merged:
                self.group[record.number] = merged

    def lists(self):
        return list({id(group): group for group in self.group.values()}.values())


def removed_records(packets):
    """Returns the kind of each removed record by number, from groups of sightings."""
    kinds = {}
    for group in packets:
        group.sort(key=lambda sighting: sighting[0].number)
        (_, home), later = group[0], group[1:]
        for record, side in later:
            kinds[record.number] = "vlan" if side == home else "routed"
    return kinds


def check(captured, kinds, across=False, masked=records.masked):
    """Finds the removed records again by content and time, and compares.

    The latest kept equal record and the nearest one must agree on every
    record, so that the answer does not hang on which of them a tool asks.
    """
    kept = defaultdict(list)
    removed = set()
    for record in captured:
        datagram = records.ip_datagram(record)
        identity = records.untagged(record) if datagram is None else masked(datagram)
        distances = [abs(record.time - k.time) for k in kept[identity]
                     if not across or k.interface != record.interface]
        nearest, latest = (min(distances), distances[-1]) if distances else (NEVER, NEVER)
        if LATEST_COPY < nearest < EARLIEST_REPEAT or LATEST_COPY < latest < EARLIEST_REPEAT:
            raise Unusable(f"record {record.number} lies {nearest} and {latest} ns from equal ones")
        if nearest > WINDOW:
            kept[identity].append(record)
            continue
        if latest > WINDOW:
            raise Unusable(f"record {record.number} comes after a later repeat")
        removed.add(record.number)
    if removed != set(kinds):
        raise Unusable(f"positions and contents differ in records {sorted(removed ^ set(kinds))[:10]}")


def backwards(captured):
    """Returns how far, in nanoseconds, a record lies behind the latest before it."""
    latest = worst = 0
    for record in captured:
        latest = max(latest, record.time)
        worst = max(worst, latest - record.time)
    return worst


def conversations(packets):
    """Returns the TCP and UDP conversations of packets that are told, each packet counted once."""
    counts = defaultdict(int)
    for group in packets:
        datagram = records.ip_datagram(group[0][0])
        ports = datagram and records.ports(datagram)
        if ports:
            source, destination, _ = addresses(datagram)
            ends = sorted([(str(source), ports[1]), (str(destination), ports[2])])
            counts[(ports[0], *ends)] += 1
    return [{"protocol": protocol, "ends": [one, other], "packets": count}
            for (protocol, one, other), count in sorted(counts.items())]


def write(path, files, captured, kinds, comment, across=False, packets=(), ignore=()):
    """Checks the answer and writes it as JSON, with one line for each list of numbers."""
    check(captured, kinds, across, records.masked_checksum if ignore else records.masked)
    counts = {kind: list(kinds.values()).count(kind) for kind in sorted(set(kinds.values()))}
    answer = {"comment": comment, "files": files, "identity": "inner" if ignore else "l3"}
    if ignore:
        answer["ignore"] = list(ignore)
    answer |= {"window_ns": WINDOW, "across": across, "packets": len(captured), "duplicates": len(kinds),
               "kinds": counts, "most_backwards_ns": backwards(captured)}
    lines = [("removed", json.dumps(sorted(kinds)))]
    if packets:
        told = sorted(sorted(record.number for record, _ in group) for group in packets)
        lines += [("sightings", json.dumps(told)),
                  ("conversations", json_lines(conversations(packets)))]
    with open(path, "w", encoding="utf-8") as file:
        head = json.dumps(answer, indent=2)[:-2]
        file.write(head + "".join(f',\n  "{name}": {text}' for name, text in lines) + "\n}\n")


def json_lines(values):
    """Returns a JSON array with a line for each value."""
    return "[\n    " + ",\n    ".join(json.dumps(value) for value in values) + "\n  ]"

# SPDX-License-Identifier: Apache-2.0
"""Builds the lab, makes each capture and writes it with its truth.

    captures.py DIRECTORY [NAME...]    as root; without names, all captures
"""

import contextlib
import functools
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import mirror
import records
import traffic
import truth
from lab import Lab, mac, stop, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
ATTEMPTS = 8
HOSTS = HOST4, HOST6 = "10.10.0.2", "fd00:10::2"
SERVERS = SERVER4, SERVER6 = "10.20.0.2", "fd00:20::2"
ROUTER = ["10.10.0.1", "fd00:10::1", "10.20.0.1", "fd00:20::1"]
ROUTER_MACS = [mac(10, 1), mac(20, 1)]
TAGGED = {10: [(0x8100, 10)], 20: [(0x8100, 20)]}
STACKED = {10: [(0x8100, 10), (0x88A8, 100)], 20: [(0x8100, 20), (0x88A8, 200)]}
PLAIN_SIDES = (["eth0"], ["eth1"])
VLAN_SIDES = (["trunk0", "vlan10"], ["trunk1", "vlan20"])


class Made(NamedTuple):
    """A capture in the lab's directory and its answer, as truth.write takes them."""
    files: list
    captured: list
    kinds: dict
    comment: str
    across: bool = False
    packets: list = ()  # where they are told: lists of (record, side)
    ignore: list = ()   # where the packets are those inside tunnels


def network(lab, tags=None):
    """host -- router -- server; with tags the links carry VLAN interfaces."""
    lab.router("router")
    for side, end, port in ((10, "host", "0"), (20, "server", "1")):
        lab.namespace(end)
        near, far = "eth" + port, "eth0"
        if tags:
            near = "trunk" + port
        lab.pair(side, ("router", near), (end, far))
        if tags:
            lab.vlan("router", near, f"vlan{side}", tags[side])
            lab.vlan(end, far, f"vlan{side}", tags[side])
            near = far = f"vlan{side}"
        lab.up("router", near, f"10.{side}.0.1/24", f"fd00:{side}::1/64")
        lab.up(end, far, f"10.{side}.0.2/24", f"fd00:{side}::2/64")
        lab.run(end, ["ip", "route", "add", "default", "via", f"10.{side}.0.1"])
        lab.run(end, ["ip", "-6", "route", "add", "default", "via", f"fd00:{side}::1"])
    traffic.serve(lab, "server", SERVER4, SERVER6)
    time.sleep(3)  # the kernel's own multicast reports end meanwhile


def conversation(lab, converse=traffic.converse, repeats=True):
    converse(lab, "host", SERVER4, SERVER6)
    if repeats:
        traffic.repeat(lab, "host", [SERVER4, SERVER6], 4, 0.03)
    traffic.at_router(lab, "host", *ROUTER[:2], SERVER4, SERVER6)


class Capturing:
    """Runs capture programs in a namespace while the body of a with runs."""

    def __init__(self, lab, namespace, *commands):
        self.lab, self.namespace, self.commands = lab, namespace, commands
        self.started = []

    def __enter__(self):
        for command in self.commands:
            log = self.lab.path(f"capture{len(self.started)}.log")
            with open(log, "w", encoding="utf-8") as output:
                process = self.lab.start(self.namespace, command, pinned=False, stderr=output)
            self.started.append((process, log))
        time.sleep(1.5)

    def __exit__(self, *_):
        time.sleep(1.5)  # longer than a block of a capture ring waits to be read
        for process, log in self.started:
            stop(process, signal.SIGINT)
            with open(log, encoding="utf-8") as lines:
                check_drops(lines.read())


def check_drops(log):
    """Raises if tcpdump or dumpcap say that the kernel lost a packet."""
    for line in log.splitlines():
        lost = line.endswith("packets dropped by kernel") and not line.startswith("0 ")
        if lost or ("received/dropped" in line and "(pcap:0/dumpcap:0/flushed:0" not in line):
            raise truth.Unusable(line)


def dumpcap(interfaces, path, *options):
    command = ["dumpcap", "-q", *options, "-w", path]
    for interface in interfaces:
        command += ["-i", interface]
    return command


def tcpdump(interface, path, *options):
    return ["tcpdump", "-Z", "root", "-U", "-i", interface, *options, "-w", path]


def router_pcapng(lab, name, comment, tags=None, snaplen=None, ordered=False, told=False):
    """All interfaces of the router in one pcapng file.

    dumpcap writes the packets of one interface after those of another, up to a
    quarter of a second late. Repeats would then come before the copies of what
    they repeat, so they are only sent where the file is put in order.
    """
    network(lab, tags)
    sides = VLAN_SIDES if tags else PLAIN_SIDES
    raw = lab.path(name)
    options = ["-s", str(snaplen)] if snaplen else []
    with Capturing(lab, "router", dumpcap(sum(sides, []), raw, *options)):
        conversation(lab, traffic.converse_briefly if tags is STACKED else traffic.converse, repeats=ordered)
    if ordered:
        subprocess.run(["reordercap", raw, raw + ".ordered"], check=True, stdout=subprocess.DEVNULL)
        os.replace(raw + ".ordered", raw)
    records.anonymize(raw)
    captured = records.read(raw)
    packets = truth.Router(sides, ROUTER_MACS, ROUTER).sightings(captured)
    return Made([name], captured, truth.removed_records(packets), comment, packets=packets if told else ())


def router_files(lab, names, comment):
    """Each interface of the router in a pcap file of its own, for merging."""
    network(lab)
    commands = [tcpdump(interface, lab.path(name)) for interface, name in zip(("eth0", "eth1"), names)]
    with Capturing(lab, "router", *commands):
        conversation(lab)
        traffic.repeat(lab, "host", [SERVER4, SERVER6], 8, 0.0002)
    merged = sorted((record for name in names for record in records.read(lab.path(name))),
                    key=lambda record: record.time)
    captured = [record._replace(number=number) for number, record in enumerate(merged)]
    sides = [[name.split(".")[0]] for name in names]
    packets = truth.Router(sides, ROUTER_MACS, ROUTER).sightings(captured)
    return Made(names, captured, truth.removed_records(packets), comment, across=True)


def mirrored(lab, name, comment, tunnel, converse, jitter=0):
    """Both ends of conversations as the mirror of a cloud sends them to its target.

    The ends leave the checksums of what they send to their network cards.
    """
    network(lab)
    ends, files = ("host", "server"), {}
    with contextlib.ExitStack() as capturing:
        for end in ends:
            lab.run(end, ["ethtool", "-K", "eth0", "tx", "on", "tso", "off", "gso", "off"], stdout=subprocess.DEVNULL)
            files[end] = lab.path(end + ".pcap")
            command = tcpdump("eth0", files[end], "--time-stamp-precision=nano")
            capturing.enter_context(Capturing(lab, end, command))
        conversation(lab, converse)
    taps = {end: records.read(path) for end, path in files.items()}
    captured = mirror.write(lab.path(name), taps, ends, tunnel, jitter)
    packets = truth.Ends({"host": HOSTS, "server": SERVERS}, ROUTER_MACS).sightings(captured)
    return Made([name], captured, truth.removed_records(packets), comment, packets=packets, ignore=["l4-checksum"])


def any_device(lab, name, comment, link, precision):
    """The any device, whose own header stands in place of Ethernet's."""
    network(lab)
    plain = lab.path("any.pcap")
    with Capturing(lab, "router", tcpdump("any", plain, "-y", link, f"--time-stamp-precision={precision}")):
        conversation(lab)
    pack(plain, lab.path(name))
    # Only the sender's link address says on which side a frame was seen.
    sides = {0x10: "eth0", 0x20: "eth1"}
    captured = [record._replace(interface=sides[records.sender(record)[4]])
                for record in records.read(lab.path(name))]
    packets = truth.Router(PLAIN_SIDES, ROUTER_MACS, ROUTER).sightings(captured)
    return Made([name], captured, truth.removed_records(packets), comment)


def pack(source, target):
    """Moves a file, compressing it if the new name ends in .gz."""
    if not target.endswith(".gz"):
        os.replace(source, target)
        return
    with open(source, "rb") as plain, open(target, "wb") as file:
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            shutil.copyfileobj(plain, packed)


def tunnel(lab, name, comment):
    """Raw IP on a tun device; its packets cross the router inside UDP."""
    network(lab)
    ends = (("host", HOST4, SERVER4, 1), ("server", SERVER4, HOST4, 2))
    for namespace, local, remote, number in ends:
        lab.start(namespace, [sys.executable, os.path.join(HERE, "tunnel.py"), "tun0", local, remote, "5555"])
        wait_for(functools.partial(lab.has, namespace, "tun0"), "tun0")
        lab.up(namespace, "tun0", f"10.99.0.{number}/24", f"fd00:99::{number}/64")
    time.sleep(2)
    with Capturing(lab, "host", tcpdump("tun0", lab.path(name))):
        traffic.converse(lab, "host", "10.99.0.2", "fd00:99::2")
        traffic.repeat(lab, "host", ["10.99.0.2", "fd00:99::2"], 4, 0.03)
    return Made([name], records.read(lab.path(name)), {}, comment)


def loopback(lab, name, comment):
    """The loopback device through libpcap: every packet once."""
    lab.namespace("server")
    traffic.serve(lab, "server", "127.0.0.1", "::1")
    with Capturing(lab, "server", tcpdump("lo", lab.path(name))):
        traffic.converse(lab, "server", "127.0.0.1", "::1")
        traffic.repeat(lab, "server", ["127.0.0.1", "::1"], 4, 0.03)
    return Made([name], records.read(lab.path(name)), {}, comment)


def loopback_twice(lab, name, comment):
    """The loopback device through a plain socket: every packet twice."""
    lab.namespace("server")
    traffic.serve(lab, "server", "127.0.0.1", "::1")
    types = lab.path("types")
    sniff = [sys.executable, os.path.join(HERE, "sniff.py"), "lo", lab.path(name), types]
    with Capturing(lab, "server", sniff):
        traffic.dns(lab, "server", "127.0.0.1")
        traffic.http(lab, "server", "::1")
        traffic.ping(lab, "server", "::1")
    captured = records.read(lab.path(name))
    with open(types, encoding="ascii") as lines:
        left = [int(line) == records.OUTGOING for line in lines]
    packets = truth.Groups()
    packets.place(captured, 0)
    packets.join([r for r, out in zip(captured, left) if out],
                 [r for r, out in zip(captured, left) if not out])
    kinds = dict.fromkeys(truth.removed_records(packets.lists()), "loopback")
    return Made([name], captured, kinds, comment)


UNSORTED = "trunks and VLAN interfaces on both sides of a router, in the order dumpcap wrote them"
MERGED = ("records are numbered as merged by time, equal times in the order of the files; "
          "equal datagrams in one file, 0.2 ms apart, are repeats and stay")
CAPTURES = {
    "router-vlan": functools.partial(
        router_pcapng, name="router-vlan.pcapng", comment=UNSORTED + "; 802.1Q", tags=TAGGED),
    "router-ordered": functools.partial(
        router_pcapng, name="router-ordered.pcapng",
        comment="trunks and VLAN interfaces on both sides of a router, sorted by time; 802.1Q",
        tags=TAGGED, ordered=True, told=True),
    "router-qinq": functools.partial(
        router_pcapng, name="router-qinq.pcapng", comment=UNSORTED + "; 802.1Q in 802.1ad", tags=STACKED),
    "router-plain": functools.partial(
        router_pcapng, name="router-plain.pcapng", comment="both interfaces of a router, sorted by time",
        ordered=True),
    "router-snap96": functools.partial(
        router_pcapng, name="router-snap96.pcapng",
        comment="both interfaces of a router, 96 bytes a packet, sorted by time", snaplen=96, ordered=True),
    "router-across": functools.partial(
        router_files, names=["router-in.pcap", "router-out.pcap"], comment=MERGED),
    "router-any-sll2": functools.partial(
        any_device, name="router-any-sll2.pcap", comment="a router's any device, nanoseconds",
        link="LINUX_SLL2", precision="nano"),
    "router-any-sll": functools.partial(
        any_device, name="router-any-sll.pcap.gz", comment="a router's any device, microseconds, gzip",
        link="LINUX_SLL", precision="micro"),
    "mirror-vxlan": functools.partial(
        mirrored, name="mirror-vxlan.pcap", tunnel=mirror.VXLAN, converse=traffic.converse,
        comment="both ends of conversations, mirrored in VXLAN, cut to the MTU of the target"),
    "mirror-geneve": functools.partial(
        mirrored, name="mirror-geneve.pcap", tunnel=mirror.GENEVE, converse=traffic.converse_briefly, jitter=250_000,
        comment="both ends of conversations, mirrored in GENEVE, cut to the MTU of the target, "
                "and put out of order by a balancer"),
    "tunnel-raw": functools.partial(
        tunnel, name="tunnel-raw.pcap", comment="a tun device: raw IP, no copies"),
    "loopback": functools.partial(
        loopback, name="loopback.pcap", comment="loopback through libpcap: no copies"),
    "loopback-twice": functools.partial(
        loopback_twice, name="loopback-twice.pcap",
        comment="loopback through a plain AF_PACKET socket: every packet twice"),
}


def make(directory, name):
    """Makes one capture, again if the traffic left its truth in doubt."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with Lab() as lab:
                made = CAPTURES[name](lab)
                truth.write(lab.path("truth.json"), *made)
                for source, target in zip(["truth.json", *made.files], [name + ".truth.json", *made.files]):
                    shutil.copyfile(lab.path(source), os.path.join(directory, target))
            print(f"{name}: {len(made.captured)} packets, {len(made.kinds)} duplicates", flush=True)
            return
        except truth.Unusable as reason:
            print(f"{name}: attempt {attempt}: {reason}", file=sys.stderr, flush=True)
    sys.exit(f"{name}: no usable capture in {ATTEMPTS} attempts; is the machine busy?")


def main(directory, *names):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the lab is cleaned up
    os.makedirs(directory, exist_ok=True)
    for name in names or CAPTURES:
        make(directory, name)


if __name__ == "__main__":
    main(*sys.argv[1:])

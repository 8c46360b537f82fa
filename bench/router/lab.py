# SPDX-License-Identifier: Apache-2.0
"""Network namespaces with a host, a router and a server, and their cleanup.

Nothing here has a link to the outside: all interfaces are veth or tun devices
inside namespaces of their own, named after this process, and all of it goes
away when the Lab is closed, whatever happened before.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time

import vlan

# Programs that send and receive stay on one CPU: the kernel keeps one receive
# queue per CPU, and with a single one no two packets overtake each other, so
# that the k-th packet on one interface is the k-th on the next.
CPU = str(max(os.sched_getaffinity(0)))


def mac(side, role):
    """The MAC address of a role (1 router, 2 end) on a side (10, 20)."""
    return f"02:00:00:00:{side:02d}:{role:02d}"


class Lab:
    """Namespaces, interfaces and processes; use as a context manager."""

    def __init__(self):
        self.prefix = f"fd{os.getpid()}-"
        self.directory = tempfile.mkdtemp(prefix="flowdedup-router-")
        self.namespaces = []
        self.processes = []
        self.programs = os.path.join(self.directory, "bpf")

    def __enter__(self):
        os.mkdir(self.programs)
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            stop(process)
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", self.prefix + namespace], check=False)
        if os.path.ismount(self.programs):
            subprocess.run(["umount", self.programs], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def namespace(self, name):
        run(["ip", "netns", "add", self.prefix + name])
        self.namespaces.append(name)
        # Addresses at once and no advertisements: what is captured is what the
        # programs say, not the kernel finding itself a place.
        for setting in ("default.accept_dad=0", "default.accept_ra=0",
                        "default.router_solicitations=0"):
            self.run(name, ["sysctl", "-qw", "net.ipv6.conf." + setting])
        self.run(name, ["ip", "link", "set", "lo", "up"])
        self.wire_like(name, "lo")

    def router(self, name):
        self.namespace(name)
        for setting in ("ipv4.ip_forward", "ipv6.conf.all.forwarding"):
            self.run(name, ["sysctl", "-qw", f"net.{setting}=1"])

    def pair(self, side, one, other):
        """A veth pair; one and other are (namespace, interface)."""
        (ns1, if1), (ns2, if2) = one, other
        self.run(ns1, ["ip", "link", "add", if1, "address", mac(side, 1), "type", "veth",
                       "peer", "name", if2, "address", mac(side, 2), "netns", self.prefix + ns2])
        for namespace, interface in (one, other):
            self.wire_like(namespace, interface)

    def wire_like(self, namespace, interface):
        """Switches off what makes captured frames differ from those on a wire."""
        self.run(namespace, ["ethtool", "-K", interface, "tx", "off", "rx", "off", "sg", "off",
                             "tso", "off", "gso", "off", "gro", "off"],
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def up(self, namespace, interface, *addresses):
        for address in addresses:
            self.run(namespace, ["ip", "address", "add", address, "dev", interface])
        if not addresses:
            self.run(namespace, ["sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1"])
        self.run(namespace, ["ip", "link", "set", interface, "up"])

    def vlan(self, namespace, parent, interface, tags):
        """Adds VLAN interface to parent; tags are (ethertype, VLAN), innermost first."""
        if not os.path.ismount(self.programs):
            run(["mount", "-t", "bpf", "bpf", self.programs])
        helper = interface + "x"
        address = self.attribute(namespace, parent, "address")
        self.run(namespace, ["ip", "link", "add", interface, "address", address,
                             "type", "veth", "peer", "name", helper])
        for name in (interface, helper):
            self.wire_like(namespace, name)
        self.up(namespace, parent)
        self.up(namespace, helper)
        index = {name: int(self.attribute(namespace, name, "ifindex")) for name in (parent, helper)}
        self.classify(namespace, helper, vlan.push_program(tags, index[parent]))
        self.classify(namespace, parent, vlan.pop_program(tags, index[helper]))

    def classify(self, namespace, interface, program):
        path = os.path.join(self.programs, f"{namespace}-{interface}")
        vlan.pin(program, path)
        self.run(namespace, ["tc", "qdisc", "add", "dev", interface, "clsact"])
        self.run(namespace, ["tc", "filter", "add", "dev", interface, "ingress",
                             "bpf", "direct-action", "object-pinned", path])

    def attribute(self, namespace, interface, name):
        return self.run(namespace, ["cat", f"/sys/class/net/{interface}/{name}"],
                        stdout=subprocess.PIPE).stdout.strip()

    def has(self, namespace, interface):
        return self.run(namespace, ["test", "-e", "/sys/class/net/" + interface], check=False).returncode == 0

    def inside(self, namespace, command):
        return ["ip", "netns", "exec", self.prefix + namespace, *command]

    def run(self, namespace, command, **options):
        return run(self.inside(namespace, command), **options)

    def talk(self, namespace, command, **options):
        """Runs a program that sends, to its end, and drops what it prints."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "timeout": 30, **options}
        return self.run(namespace, ["taskset", "-c", CPU, *command], **options)

    def start(self, namespace, command, pinned=True, **options):
        """Starts a program that runs until it is stopped or the Lab is closed."""
        if pinned:
            command = ["taskset", "-c", CPU, *command]
        process = subprocess.Popen(self.inside(namespace, command), stdin=subprocess.DEVNULL,
                                   text=True, **options)
        self.processes.append(process)
        return process


def run(command, **options):
    return subprocess.run(command, **{"check": True, "text": True, **options})


def stop(process, how=signal.SIGTERM):
    """Signals a process and waits for its end."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(condition, what, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.05)

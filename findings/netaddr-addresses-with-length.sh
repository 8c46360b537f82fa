#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: netaddr's IPNetwork('10.0.0.1/24') keeps its address, as it prints it again, so it is not
#        equal to IPNetwork('10.0.0.2/24').
# Is:    they are equal, with equal hashes: netaddr compares the first and last address of the network
#        alone. The address of an interface with its length is all others of its network.
# Why:   a set of what `ip address` prints for 254 hosts has one element, and a dictionary gives the
#        counts of all hosts to whoever came first. Python's own ipaddress counts 254.
set -euo pipefail
version=0.8.0-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-netaddr=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
dpkg -x ./*.deb .
cat >count.py <<'PY'
from ipaddress import ip_interface
from netaddr import IPNetwork
hosts = ['10.0.0.%d/24' % i for i in range(1, 255)]
print('%d hosts: %d printed, netaddr %d, ipaddress %d' % (len(hosts), len({str(IPNetwork(h)) for h in hosts}), len({IPNetwork(h) for h in hosts}), len({ip_interface(h) for h in hosts})))
PY
seen=$(PYTHONPATH=usr/lib/python3/dist-packages python3 count.py)
echo "netaddr $version: distinct among $seen"
[ "$seen" = "254 hosts: 254 printed, netaddr 1, ipaddress 254" ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: iprange of FireHOL makes of a list of addresses a sorted list without duplicates, in whatever order
#        they are. 255.255.255.255 and 0.0.0.0 are two addresses.
# Is:    if 0.0.0.0 follows 255.255.255.255 in the list, they become 0.0.0.0/0, all addresses: the last address
#        plus 1 is 0, so they are called neighbours, and a range from one to the other is written. A warning
#        goes to stderr, the status is 0, and -C still counts them as 2. If 0.0.0.0 comes first, it is
#        right. What was written, read again, counts as 0 addresses, 2 to the power of 32 in 32 bits.
# Why:   each DHCP request goes from 0.0.0.0 to 255.255.255.255, so a list of the addresses of a capture has both,
#        side by side. The list without duplicates, for a filter or a firewall, has all addresses.
set -euo pipefail
version=1.0.4+ds-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q iprange=$version >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
dpkg -x ./*.deb .

# list prints what iprange makes of the addresses, in a line, its count of them, and that of what it made.
list() {
	printf '%s\n' "$@" >in
	usr/bin/iprange in >out 2>/dev/null
	echo "$*: $(tr '\n' ' ' <out)counts $(usr/bin/iprange -C in 2>/dev/null), read again $(usr/bin/iprange -C out)"
}
seen=$(
	list 0.0.0.0 255.255.255.255
	list 255.255.255.255 0.0.0.0
	list 255.255.255.255 192.0.2.1 0.0.0.0
	list 192.0.2.1 255.255.255.255 0.0.0.0
)
printf 'iprange %s: lists, expected the addresses in order, with entries and distinct addresses by -C:\n%s\n' "$version" "$seen"
[ "$seen" = "0.0.0.0 255.255.255.255: 0.0.0.0 255.255.255.255 counts 2,2, read again 2,2
255.255.255.255 0.0.0.0: 0.0.0.0/0 counts 2,2, read again 1,0
255.255.255.255 192.0.2.1 0.0.0.0: 0.0.0.0 192.0.2.1 255.255.255.255 counts 3,3, read again 3,3
192.0.2.1 255.255.255.255 0.0.0.0: 192.0.2.1 0.0.0.0/0 counts 3,3, read again 2,0" ]

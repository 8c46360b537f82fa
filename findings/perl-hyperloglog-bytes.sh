#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: Algorithm::HyperLogLog of Perl counts different strings, whatever their bytes: 1,000 addresses are some 1,000,
#        as text ("10.0.0.1") or as the four bytes that packets and inet_aton have.
# Is:    as text they are. As bytes all 1,000 are one: the module hashes a string up to its first zero byte, so
#        of the addresses in 10.0.0.0/16 it hashes the 10 alone. 192.168.1.1 and others without a zero byte count.
# Why:   binary addresses are shorter and faster to make, and who counts them gets no error: the hosts of
#        a network whose number has a 0 are a single host.
set -euo pipefail
version=0.24-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q libalgorithm-hyperloglog-perl=$version >/dev/null 2>&1 || { echo "libalgorithm-hyperloglog-perl $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done

seen=$(perl -I "$(echo usr/lib/*-linux-gnu/perl5/5.*)" -e '
use Algorithm::HyperLogLog;
# hosts counts 1,000 addresses of a network, as text and as bytes.
sub hosts {
	my ($network) = @_;
	my ($text, $bytes) = (Algorithm::HyperLogLog->new(14), Algorithm::HyperLogLog->new(14));
	for my $host (0 .. 999) {
		my @address = (@$network, 1 + int($host / 250), 1 + $host % 250);
		$text->add(join(".", @address));
		$bytes->add(pack("C4", @address));
	}
	for my $count ($text->estimate, $bytes->estimate) { printf "%s ", abs($count - 1000) < 50 ? "right" : int($count + 0.5) }
}
hosts([192, 168]);
hosts([10, 0]);
') || { echo "the module does not run with this Perl"; exit 2; }
echo "Algorithm::HyperLogLog $version, 1,000 addresses of 192.168.0.0/16 and of 10.0.0.0/16, as text and as bytes: $seen"
[ "$seen" = 'right right right 1 ' ]

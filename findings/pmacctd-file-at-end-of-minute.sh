#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: pmacctd with its print plugin counts the packets of a capture file, whenever it is started, and
#        however often it writes (print_refresh_time).
# Is:    it sleeps for two seconds before it reads a file. If a time to write comes meanwhile, when there is
#        nothing to write, 8 packets become 16, and of 1,000 a few are left, here 52. No message tells it,
#        and the status is 0. With a time of 1 second it happens always. With the default of 60 it
#        happens to a run that starts in about the last second and a half of a minute.
# Why:   the same file and configuration give 1,000 packets, and now and then 52 or, of a small file, twice
#        as many. These are duplicates of the counter, not of the network. Of a loop over files each
#        fortieth or so is wrong.
set -euo pipefail
version=1.7.7-1+b1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
libraries=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances pmacct 2>/dev/null | grep -E '^lib' | grep -vE '^lib(c6|c-|crypt)' | sort -u || true)
apt-get download -q pmacct=$version $libraries >/dev/null 2>&1 || { echo "packages of version $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$(echo usr/lib/*-linux-gnu):$(echo lib/*-linux-gnu)

python3 - <<'PY'
import struct
def checked(ip):
    total = sum(struct.unpack('>10H', ip))
    total = (total & 0xffff) + (total >> 16)
    return ip[:10] + struct.pack('>H', ~total & 0xffff) + ip[12:]
def frame(number):
    udp = struct.pack('>HHHH', 4000, 5000, 28, 0) + b'x' * 20
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 48, number, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return bytes.fromhex('020000000002' '020000000001' '0800') + checked(ip) + udp
for count in (8, 1000):
    with open('%d.pcap' % count, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(count):
            f.write(struct.pack('<IIII', 1700000000, i * 100, 62, 62) + frame(i))
PY

# counted COUNT SECONDS prints how many packets pmacctd counts in a file of COUNT packets, if it writes every SECONDS.
counted() {
	cat >"$1-$2.conf" <<-CONF
		daemonize: false
		pcap_savefile: $folder/$1.pcap
		aggregate: src_host
		plugins: print
		print_output: csv
		print_output_file: $folder/$1-$2.csv
		print_output_file_append: true
		print_refresh_time: $2
	CONF
	timeout 30 usr/sbin/pmacctd -f "$1-$2.conf" >/dev/null 2>&1
	awk -F, '$1 == "10.0.0.1" {n += $2} END {print n + 0}' "$1-$2.csv"
}
for count in 8 1000; do
	for seconds in 86400 1; do counted $count $seconds >"$count-$seconds" & done
done
wait
few=$(cat 8-86400) few1=$(cat 8-1) many=$(cat 1000-86400) many1=$(cat 1000-1)
echo "pmacctd $version: of 8 packets, written once a day $few, every second $few1; of 1000 packets $many, and $many1"
[ "$few $many $few1" = "8 1000 16" ] && [ "$many1" -lt 1000 ]

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Draws man.png and wireshark.png beside this script: what a terminal shows of a man page, and
# what tshark and its extcap program say of an interface. Linux, as root, with mandoc, tshark
# and chromium.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../../../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# terminal draws its input, with bold and underlined letters as terminals of paper had them:
# terminal NAME COLUMNS LINES
terminal() {
	{
		cat <<-'HTML'
			<!DOCTYPE html><meta charset="utf-8"><style>
			body { margin: 0; background: #1d2129; color: #dfe3ec }
			pre { margin: 0; padding: 12px 16px; font: 13px/18px "DejaVu Sans Mono", monospace; tab-size: 8 }
			b { color: #fff } u { color: #f0b65a; text-decoration: none }
			</style><pre>
		HTML
		head -n "$3" | perl -CSD -pe 's/&/&amp;/g; s/</&lt;/g; s/_\x08(&\w+;|.)/<u>$1<\/u>/g; s/(&\w+;|.)\x08\1/<b>$1<\/b>/g; s/<\/(b|u)><\1>//g'
	} >"$work/$1.html"
	chromium --headless --no-sandbox --disable-gpu --disable-lcd-text --hide-scrollbars --user-data-dir="$work/browser" \
		--window-size=$(($2 * 8 + 32)),$(($3 * 18 + 26)) --screenshot="$here/$1.png" "file://$work/$1.html" >/dev/null 2>&1
	test "$(wc -c <"$here/$1.png")" -lt 100000
}

cd "$top"
CGO_ENABLED=0 go build -o "$work/flowdedup" ./cmd/flowdedup
go run ./cmd/flowdedup/doc/man "$work/man"
mandoc -T utf8 -O width=88 "$work/man/flowdedup-dedup.1" | terminal man 90 28

mkdir "$work/extcap"
ln -s "$work/flowdedup" "$work/extcap/flowdedup-extcap"
unshare --net --mount bash -c '
	ip link add eth0 type veth peer name eth1 && ip link set eth0 up && ip link set lo up
	mount --bind "$0/extcap" "$(tshark -G folders 2>/dev/null | sed -n "s/^Extcap path:[[:space:]]*//p")"
	export PATH=$0/extcap:$PATH
	bold() { sed "s/./&\x08&/g"; }
	echo "$ tshark -D" | bold
	tshark -D 2>/dev/null | grep -v eth1
	echo
	echo "$ flowdedup-extcap --extcap-interface flowdedup-eth0 --extcap-config" | bold
	flowdedup-extcap --extcap-interface flowdedup-eth0 --extcap-config
' "$work" | fold -s -w 110 >"$work/said"
terminal wireshark 112 "$(wc -l <"$work/said")" <"$work/said"

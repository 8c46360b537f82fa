#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: gopacket's NgReader returns the times of a pcapng file whatever the resolution of its
#        interface: powers of 2, as the format allows (if_tsresol with its highest bit), or seconds.
# Is:    with powers of 2 the fraction of a second is wrong: half a second comes out as 0.499646 in
#        units of 2^-20, as 0.536870 in units of 2^-30. Whole seconds become times in 1970.
# Why:   packets move by up to tens of milliseconds, and differently in each second: copies leave
#        the window, and delays between taps are invented.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/google/gopacket v1.1.19
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/google/gopacket/pcapgo"
)

func block(kind uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)+12))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(body)+12))
}

// read returns the time that the reader gives of a packet with a time in a resolution.
func read(resolution byte, units uint64) time.Time {
	order := binary.LittleEndian
	section := append(order.AppendUint32(nil, 0x1a2b3c4d), 1, 0, 0, 0)
	section = order.AppendUint64(section, 1<<64-1)
	face := []byte{1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0}
	packet := order.AppendUint32(make([]byte, 4), uint32(units>>32))
	packet = order.AppendUint32(packet, uint32(units))
	packet = order.AppendUint32(order.AppendUint32(packet, 60), 60)
	file := append(append(block(0x0a0d0d0a, section), block(1, face)...), block(6, append(packet, make([]byte, 60)...))...)
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		panic(err)
	}
	_, info, err := r.ReadPacketData()
	if err != nil {
		panic(err)
	}
	return info.Timestamp.UTC()
}

func main() {
	const second = 1700000000
	ten := read(6, second*1000000+500000)
	two20 := read(0x80|20, second<<20+1<<19)
	two30 := read(0x80|30, second<<30+1<<29)
	whole := read(0, second)
	fmt.Println("gopacket 1.1.19: half a second after 2023-11-14 22:13:20")
	fmt.Println("  in microseconds", ten.Format("05.000000"), "in 2^-20 s", two20.Format("05.000000"), "in 2^-30 s", two30.Format("05.000000"))
	fmt.Println("  2023-11-14 22:13:20 in seconds:", whole.Format(time.DateTime))
	if ten.UnixNano() != 1700000000500000000 || two20.Format("05.000000") != "20.499646" || two30.Format("05.000000") != "20.536870" || whole.Year() != 1970 {
		os.Exit(1)
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
go run .

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"hash/maphash"
	"io"
	"time"

	"github.com/gopacket/gopacket/layers"
)

const window = int64(time.Millisecond)

// dedup counts packets whose IP datagram, except the fields that routers change, came
// within the window. Two maps hold the times: when the newer one is a window old, the
// older one is forgotten.
type dedup struct {
	hash         maphash.Hash
	newer, older map[uint64]int64
	begin        int64 // of the newer
	packets      int
	copies       int
}

func newDedup() *dedup {
	return &dedup{newer: map[uint64]int64{}, older: map[uint64]int64{}}
}

func (d *dedup) add(now int64, p *parser) {
	if now-d.begin > window {
		d.newer, d.older = d.older, d.newer
		clear(d.newer)
		d.begin = now
	}
	d.packets++
	key := d.identity(p)
	if d.seen(key, now) {
		d.copies++
		return
	}
	d.newer[key] = now
}

func (d *dedup) seen(key uint64, now int64) bool {
	kept, ok := d.newer[key]
	if !ok {
		kept, ok = d.older[key]
	}
	return ok && now-kept <= window
}

// identity hashes a datagram without hop limit, traffic class and header checksum.
func (d *dedup) identity(p *parser) uint64 {
	var header [64]byte // an IPv4 header has at most 60 bytes, an IPv6 header 40
	var n int
	d.hash.Reset()
	if p.network == layers.LayerTypeIPv4 {
		n = copy(header[:], p.ip4.Contents)
		header[1], header[8], header[10], header[11] = 0, 0, 0, 0
		d.hash.Write(header[:n])
		d.hash.Write(p.ip4.Payload)
	} else {
		n = copy(header[:], p.ip6.Contents)
		header[0], header[1], header[7] = header[0]&0xf0, header[1]&0x0f, 0
		d.hash.Write(header[:n])
		d.hash.Write(p.ip6.Payload)
	}
	return d.hash.Sum64()
}

func (d *dedup) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d packets, %d copies\n", d.packets, d.copies)
	return err
}

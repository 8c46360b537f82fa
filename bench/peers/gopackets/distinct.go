// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/netip"
	"time"
)

// distinct counts the different sources, destinations and flows of each hour.
type distinct struct {
	hour     int64 // since 1970
	src, dst map[netip.Addr]struct{}
	flows    map[flow]struct{}
	done     []hour
}

type hour struct {
	begin           int64 // hours since 1970
	src, dst, flows int
}

func newDistinct() *distinct {
	return &distinct{src: map[netip.Addr]struct{}{}, dst: map[netip.Addr]struct{}{}, flows: map[flow]struct{}{}}
}

func (d *distinct) add(now int64, p *parser) {
	if h := now / int64(time.Hour); h != d.hour {
		d.end()
		d.hour = h
	}
	f := p.flow()
	d.src[f.src] = struct{}{}
	d.dst[f.dst] = struct{}{}
	d.flows[f] = struct{}{}
}

// end closes an hour, unless it is empty.
func (d *distinct) end() {
	if len(d.flows) > 0 {
		d.done = append(d.done, hour{d.hour, len(d.src), len(d.dst), len(d.flows)})
	}
	clear(d.src)
	clear(d.dst)
	clear(d.flows)
}

func (d *distinct) print(w io.Writer) error {
	d.end()
	for _, h := range d.done {
		begin := time.Unix(h.begin*3600, 0).UTC().Format(time.RFC3339)
		if _, err := fmt.Fprintf(w, "%s %d %d %d\n", begin, h.src, h.dst, h.flows); err != nil {
			return err
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"errors"
	"io"

	"github.com/flowdedup/flowdedup/capture"
)

// cursor reads the packets of a capture one by one.
type cursor struct {
	source capture.Source
	file   int // its number
	batch  capture.Batch
	at     int
	number uint64 // of packets passed
	err    error  // why there are no more; io.EOF at the end
}

// next reports whether there is a packet, which is number at of the batch.
func (c *cursor) next() bool {
	for c.err == nil && c.at == len(c.batch.Frames) {
		c.at = 0
		if c.err = c.source.Next(&c.batch); c.err != nil {
			c.batch = capture.Batch{}
		}
	}
	return c.err == nil
}

// pass steps behind the packet.
func (c *cursor) pass() {
	c.at++
	c.number++
}

// failure returns the error that ended the capture early.
func (c *cursor) failure() error {
	if errors.Is(c.err, io.EOF) {
		return nil
	}
	return c.err
}

// take passes the packet if it is packet i of b, cut to n bytes.
func (c *cursor) take(b *capture.Batch, i, n int) bool {
	if !c.next() || !same(b, i, n, &c.batch, c.at) {
		return false
	}
	c.pass()
	return true
}

// cursors read an output: one file, or a file for each input.
type cursors []*cursor

func newCursors(files []capture.Source) (c cursors) {
	for i, file := range files {
		c = append(c, &cursor{source: file, file: i})
	}
	return c
}

// of returns the cursor of the file that has packet i of b.
func (c cursors) of(b *capture.Batch, i int) *cursor {
	if len(c) == 1 {
		return c[0]
	}
	return c[sectionOf(b, i).Input]
}

// failure returns the errors that ended captures early.
func (c cursors) failure() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.failure())
	}
	return errors.Join(errs...)
}

// same reports whether packet i of a, cut to n bytes, is packet k of b: bytes, length on the
// wire, time, interface, and options. Data that a format cannot hold is not compared, nor
// the options of a packet that was cut, whose hash is gone. A packet without a time may have got
// a time in b, but no packet loses its time.
func same(a *capture.Batch, i, n int, b *capture.Batch, k int) bool {
	x, y := &a.Frames[i], &b.Frames[k]
	return (x.Time == y.Time || x.Time == capture.NoTime) && x.WireLen == y.WireLen &&
		sameInterface(&a.Interfaces[x.Interface], &b.Interfaces[y.Interface]) &&
		bytes.Equal(a.Data(i)[:n], b.Data(k)) && (n < len(a.Data(i)) || sameOptions(a, i, b, k))
}

func sameInterface(x, y *capture.Interface) bool {
	return x.LinkType == y.LinkType && (x.Name == y.Name || x.Name == "" || y.Name == "")
}

// sameOptions compares the options of packets in pcapng of the same byte order. Changing the
// byte order changes options, and pcap loses them. A block that became an enhanced one has an option
// before the others: a count of drops, or a comment that there was no time.
func sameOptions(a *capture.Batch, i int, b *capture.Batch, k int) bool {
	x, y := sectionOf(a, i), sectionOf(b, k)
	if x.Format != capture.FormatPcapNG || y.Format != capture.FormatPcapNG || x.BigEndian != y.BigEndian {
		return true
	}
	if !bytes.Equal(a.Record(i)[:4], b.Record(k)[:4]) {
		return bytes.HasSuffix(options(b, k), options(a, i))
	}
	return bytes.Equal(options(a, i), options(b, k))
}

func sectionOf(b *capture.Batch, i int) *capture.Section {
	return &b.Sections[b.Interfaces[b.Frames[i].Interface].Section]
}

// options returns the bytes behind the data in the block of a packet, up to its length.
func options(b *capture.Batch, i int) []byte {
	f := &b.Frames[i]
	from, to := int(f.Data-f.Record)+int((f.CapLen+3)&^3), int(f.RecordLen)-4
	if from >= to {
		return nil
	}
	return b.Record(i)[from:to]
}

// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// commentOn returns the comment that packet n of a test's stream gets, or "": of all
// lengths that padding can have.
func commentOn(n int) string {
	if n%3 == 0 {
		return ""
	}
	return fmt.Sprintf("packet %d%s", n, "....."[:n%5])
}

// comment gives the frames of b, the first of which is packet n, their comments.
func comment(b *capture.Batch, n int) {
	b.Comments.Reset()
	for i := range b.Frames {
		b.Comments.Set(i, []byte(commentOn(n+i)))
	}
}

// writeCommented writes a stream with the comments of commentOn, or with none.
func writeCommented(t testing.TB, src capture.Source, comments bool) (file []byte, packets int, err error) {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Merged: true, Format: capture.FormatPcap, Commented: true})
	_ = capturetest.Each(t, src, func(b *capture.Batch) {
		if comments {
			comment(b, packets)
		}
		packets += len(b.Frames)
		_ = w.Write(b, nil) // Close says how it went
	})
	return out.Bytes(), packets, w.Close()
}

// commentedPacket is a packet of a file with its comments, without its place.
type commentedPacket struct {
	time     uint64 // 0 in a simple packet block
	iface    uint32
	wire     uint32
	data     string
	options  []string // but comments
	comments []string
}

// commentedPackets reads the packets of a little-endian section, and checks that their
// lists of options end as they should.
func commentedPackets(t testing.TB, file []byte) (all []commentedPacket) {
	t.Helper()
	le, snapLens := binary.LittleEndian, []uint32{}
	for len(file) > 0 {
		n := le.Uint32(file[4:])
		block := file[:n]
		file = file[n:]
		switch le.Uint32(block) {
		case capture.BlockInterface:
			snapLens = append(snapLens, le.Uint32(block[12:]))
		case capture.BlockSimplePacket:
			wire := le.Uint32(block[8:])
			size := wire
			if snapLens[0] != 0 {
				size = min(size, snapLens[0])
			}
			all = append(all, commentedPacket{wire: wire, data: string(block[12:][:size])})
		case capture.BlockEnhancedPacket:
			size := le.Uint32(block[20:])
			p := commentedPacket{
				time: uint64(le.Uint32(block[12:]))<<32 | uint64(le.Uint32(block[16:])), iface: le.Uint32(block[8:]),
				wire: le.Uint32(block[24:]), data: string(block[28:][:size]),
			}
			o := encoding.Options{Rest: block[28+(size+3)&^3 : n-4]}
			for {
				code, value, err := o.Next()
				if err != nil {
					t.Fatal(err)
				}
				if code == encoding.OptEnd {
					break
				}
				if code == encoding.OptComment {
					p.comments = append(p.comments, string(value))
				} else {
					p.options = append(p.options, fmt.Sprintf("%d %x", code, value))
				}
			}
			if k := len(p.comments); k > 0 && strings.HasPrefix(p.comments[k-1], "packet ") && len(o.Rest) != 4 {
				t.Fatalf("%d bytes end the options of a packet with a comment", len(o.Rest))
			}
			all = append(all, p)
		}
	}
	return all
}

// checkCommented writes a stream with and without comments. Nothing else may differ, but
// that a simple packet block becomes an enhanced packet block for a comment.
func checkCommented(t testing.TB, open func() capture.Source) {
	t.Helper()
	plainFile, packets, err := writeCommented(t, open(), false)
	file, _, err2 := writeCommented(t, open(), true)
	if err != nil || err2 != nil {
		if err == nil || err2 == nil {
			t.Fatalf("without comments %v, with them %v", err, err2)
		}
		return
	}
	plain, got := commentedPackets(t, plainFile), commentedPackets(t, file)
	if len(plain) != packets || len(got) != packets {
		t.Fatalf("%d packets, with comments %d, want %d", len(plain), len(got), packets)
	}
	last := uint64(0)
	for n := range plain {
		w, g := &plain[n], &got[n]
		if text := commentOn(n); text != "" {
			if w.time == 0 && len(w.comments) == 0 && len(g.comments) == 2 { // it was a simple packet block
				w.comments, w.time = g.comments[:1], g.time
			}
			w.comments = append(w.comments, text)
		}
		if g.time != w.time || g.iface != w.iface || g.wire != w.wire || g.data != w.data ||
			!slices.Equal(g.options, w.options) || !slices.Equal(g.comments, w.comments) {
			t.Fatalf("packet %d is %.400v, want %.400v, after %d", n, *g, *w, last)
		}
		last = g.time
	}
}

// TestComments adds comments to packet blocks of all kinds.
func TestComments(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) { checkCommented(t, func() capture.Source { return m.open(t, 120) }) })
	}
	t.Run("variants", func(t *testing.T) {
		checkCommented(t, func() capture.Source { return source(t, ngVariants(), "variants") })
	})
	for kind := range capturetest.PcapKinds {
		checkCommented(t, func() capture.Source { return source(t, capturetest.Pcap(kind, 30, 1, 64).Bytes(), "pcap") })
	}
}

// TestCommentOnSimplePacket makes an enhanced block, which says where its time is from.
func TestCommentOnSimplePacket(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := &capturetest.File{Order: order}
		g.Section(0)
		g.Interface(1, 0)
		g.Enhanced(0, 7, []byte("packet 0"), 8)
		g.Simple([]byte("packet 1"))
		file, _, err := writeCommented(t, source(t, g.Bytes(), "a"), true)
		if err != nil {
			t.Fatal(err)
		}
		got := commentedPackets(t, file)
		if len(got) != 2 || got[1].time != 7 || !slices.Equal(got[1].comments, []string{commentTimeTaken, commentOn(1)}) {
			t.Errorf("%v: %v", order, got)
		}
	}
}

// TestCommentedSplitter says before how long packets with comments become.
func TestCommentedSplitter(t *testing.T) {
	for _, m := range modes {
		var s *Splitter
		packets := 0
		_ = capturetest.Each(t, m.open(t, 40), func(b *capture.Batch) {
			if s == nil {
				s = NewSplitter(b, WriterOptions{Commented: true})
			}
			comment(b, packets)
			packets += len(b.Frames)
			pos := 0
			for i := range b.Frames {
				for ; pos < len(b.Blocks) && int(b.Blocks[pos].Before) <= i; pos++ {
					s.Observe(b, pos)
				}
				checkSplit(t, s, b, i)
			}
		})
	}
}

// TestLongComment truncates what an option cannot hold.
func TestLongComment(t *testing.T) {
	b := handmade(1)[0]
	b.Comments.Set(0, bytes.Repeat([]byte{'x'}, 1<<17))
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Commented: true})
	if err := w.Write(b, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := commentedPackets(t, out.Bytes()); len(got) != 1 || len(got[0].comments[0]) != 1<<16-1 {
		t.Errorf("%d packets", len(got))
	}
}

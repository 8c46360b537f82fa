// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/engine/window"
)

// The lengths that captures are cut to: from only an Ethernet header to all headers of nearly
// all packets, and some payload.
const leastCut, mostCut = 14, 128

// mostPackets are taken from a capture.
const mostPackets = 5000

// cutBatch returns the packets of a batch as if no more than size bytes of each had been
// captured.
func cutBatch(b *capture.Batch, size uint32) *capture.Batch {
	cut := *b
	cut.Frames = slices.Clone(b.Frames)
	for i := range cut.Frames {
		cut.Frames[i].CapLen = min(cut.Frames[i].CapLen, size)
	}
	return &cut
}

// found is what a detector finds in a batch.
type found struct {
	drop                  []uint64
	copies                uint64
	undecidable, checksum uint64
}

func find(t *testing.T, cfg dedup.Config, b *capture.Batch) found {
	t.Helper()
	timed := window.TimedConfig{Window: cfg.Window, Across: cfg.Across, Memory: 256 << 10} // enough for mostPackets, and soon there
	if timed.Window == (window.Window{}) {
		timed.Window.Duration = window.Default
	}
	filter, err := window.NewTimed(timed)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Filter = filter
	d, err := dedup.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := d.NewBatchDetector()
	p.Prepare(b)
	f := found{drop: slices.Clone(p.Judge(b))}
	n := len(b.Frames)
	f.copies = uint64(n) - capture.CountKept(f.drop, 0, n)
	s := d.Stats()
	f.undecidable, f.checksum = s.Undecidable, s.ChecksumOnly
	return f
}

// TestCutCaptures cuts captures to every length, or in short tests to some. What was captured of
// packets must not make more of them copies than all of it does.
func TestCutCaptures(t *testing.T) {
	names, err := filepath.Glob(pcaps + "*.pcap*")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b := read(t, name)
			testCuts(t, b, dedup.Config{}, 0)
			testCuts(t, b, byFrame, 0)
			// Some packets are there with a checksum that was left to the card, too, and are copies
			// of each other while the checksum is not there.
			testCuts(t, b, inner, 0, innerWithoutChecksum)
			long := dedup.Config{Window: window.Window{Duration: time.Second}}
			testCuts(t, b, long, 1)
		})
	}
}

var (
	byFrame              = dedup.Config{Identity: identity.Config{Kind: identity.Frame}}
	inner                = dedup.Config{Identity: identity.Config{Kind: identity.Inner}}
	innerWithoutChecksum = dedup.Config{Identity: identity.Config{Kind: identity.Inner, Ignore: identity.IgnoreAlso(identity.L4Checksum)}}
)

// TestCutShared does so with the shared captures, at the defaults.
func TestCutShared(t *testing.T) {
	capturetest.EachShared(t, func(t *testing.T, name string) {
		testCuts(t, read(t, name), dedup.Config{}, 0)
	})
}

// read returns the first packets of a capture.
func read(t *testing.T, name string) *capture.Batch {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Skip(err)
	}
	b, _ := capturetest.SomeBatch(t, src)
	b.Frames = b.Frames[:min(len(b.Frames), mostPackets)]
	return b
}

// testCuts compares what cfg finds in cut packets with what it, or any of others, finds in all
// of them. Up to chance copies more may be known only by a checksum.
func testCuts(t *testing.T, b *capture.Batch, cfg dedup.Config, chance uint64, others ...dedup.Config) {
	t.Helper()
	most, some := find(t, cfg, b).copies, false
	for _, other := range others {
		most = max(most, find(t, other, b).copies)
	}
	step := uint32(1)
	if testing.Short() {
		step = 5
	}
	for size := uint32(leastCut); size <= mostCut; size += step {
		f := find(t, cfg, cutBatch(b, size))
		if f.copies > most+min(f.checksum, chance) {
			t.Errorf("%+v, cut to %d bytes: %d copies, of %d; %d by a checksum alone", cfg.Identity, size, f.copies, most, f.checksum)
		}
		some = some || f.undecidable > 0
	}
	if len(b.Frames) > 100 && !some {
		t.Error("all packets were judged, however short")
	}
}

// datagram is an Ethernet frame with a UDP datagram over IPv6, as its sender's capture has it:
// with a checksum that is left to the card if sum is 0, which only the payload distinguishes.
func datagram(n, sum byte) []byte {
	frame := append(make([]byte, 12), 0x86, 0xdd, 0x60, 0, 0, 0, 0, 8+100, 17, 64)
	frame = append(frame, make([]byte, 32)...)
	frame = append(frame, 0, 1, 0, 2, 0, 8+100, sum, sum)
	return append(frame, append(make([]byte, 99), n)...)
}

// datagrams returns a batch of 20 packets at two points, in turn, cut to this number of bytes.
func datagrams(cut int, sum byte) *capture.Batch {
	b := new(capture.Batch)
	points := [2]uint32{b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "a"}), b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "b"})}
	for i := range 20 {
		d := datagram(byte(i/2), sum)
		b.Append(capture.Frame{Time: int64(i+1) * 1000, Interface: points[i%2], WireLen: uint32(len(d))}, d[:min(cut, len(d))])
	}
	return b
}

// TestUndecidable keeps packets that cannot be known, and remembers none of them.
func TestUndecidable(t *testing.T) {
	across := dedup.Config{Window: window.Window{Duration: window.Default}, Across: true}
	protect := dedup.Config{Protect: func(chosen []uint64, _ *capture.Batch, _, _ int) { chosen[0] = ^uint64(0) }}
	only := dedup.Config{Only: func(chosen []uint64, _ *capture.Batch, _, _ int) { chosen[0] = 0xf }}
	for _, c := range []struct {
		name                          string
		cut                           int
		sum                           byte
		cfg                           dedup.Config
		copies, undecidable, checksum uint64
	}{
		{"whole", 1000, 0, dedup.Config{}, 10, 0, 0},
		{"cut", 62, 0, dedup.Config{}, 0, 20, 0},
		{"across", 62, 0, across, 10, 0, 0},
		{"checksum", 62, 7, dedup.Config{}, 19, 0, 19},
		{"part of the checksum", 61, 7, dedup.Config{}, 0, 20, 0},
		{"checksum, across", 62, 7, across, 10, 0, 10},
		{"protect", 62, 0, protect, 0, 20, 0},
		{"only some", 62, 0, only, 0, 4, 0},
		{"only some, whole", 1000, 0, only, 2, 0, 0},
	} {
		f := find(t, c.cfg, datagrams(c.cut, c.sum))
		if f.copies != c.copies || f.undecidable != c.undecidable || f.checksum != c.checksum {
			t.Errorf("%s: %d copies, %d undecidable, %d by a checksum, want %d, %d, %d",
				c.name, f.copies, f.undecidable, f.checksum, c.copies, c.undecidable, c.checksum)
		}
	}
}

// TestUndecidableBatches judges batches with and without such packets in turn.
func TestUndecidableBatches(t *testing.T) {
	d, err := dedup.New(dedup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := d.NewBatchDetector()
	for i := range 6 {
		b, want := datagrams(62, 0), uint64(0)
		if i%2 == 0 {
			b, want = datagrams(1000, 0), 10
			if i > 0 {
				want = 20 // all were there before
			}
		}
		p.Prepare(b)
		if got := 20 - capture.CountKept(p.Judge(b), 0, 20); got != want {
			t.Errorf("batch %d: %d copies, want %d", i, got, want)
		}
	}
}

// TestUndecidableHold keeps undecidable packets in their places while others wait for better copies.
func TestUndecidableHold(t *testing.T) {
	b := datagrams(62, 0)
	d, err := dedup.New(dedup.Config{Hold: hold.Config{Flow: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	written := uint64(0)
	task := d.Tasks(writeFunc(func(b *capture.Batch, drop []uint64) error {
		written += capture.CountKept(drop, 0, len(b.Frames))
		return nil
	}))()
	task.Prepare(b)
	if err := task.Judge(b); err != nil {
		t.Fatal(err)
	}
	if err := task.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := task.(interface{ Finish() error }).Finish(); err != nil {
		t.Fatal(err)
	}
	if written != 20 {
		t.Errorf("%d of 20 packets were written", written)
	}
}

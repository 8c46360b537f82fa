package dedup_test

import (
	"math/bits"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/engine/window"
)

// The lengths that captures are cut to: from an Ethernet header alone to all headers of
// nearly all packets, and some payload.
const leastCut, mostCut = 14, 128

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

// copiesOf returns a bitmap of the copies in a batch.
func copiesOf(t *testing.T, cfg dedup.Config, b *capture.Batch) []uint64 {
	d, err := dedup.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	return slices.Clone(d.Copies(b))
}

func countOf(drop []uint64) (n int) {
	for _, word := range drop {
		n += bits.OnesCount64(word)
	}
	return n
}

// TestCutCaptures cuts captures to every length. What was captured of packets must not make
// more of them copies than all of it does.
func TestCutCaptures(t *testing.T) {
	names, err := filepath.Glob(pcaps + "*.pcap*")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { testCuts(t, name) })
	}
}

// TestCutShared does so with the shared captures.
func TestCutShared(t *testing.T) {
	capturetest.EachShared(t, testCuts)
}

func testCuts(t *testing.T, name string) {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Skip(err)
	}
	b := capturetest.WholeBatch(t, src)
	for _, kind := range []flow.IdentityKind{flow.L3, flow.Frame, flow.Inner} {
		for _, w := range []time.Duration{window.Default, time.Second} {
			cfg := dedup.Config{Identity: flow.IdentityConfig{Kind: kind}, Filter: window.TimedConfig{Window: window.Window{Duration: w}}}
			all := copiesOf(t, cfg, b)
			for size := uint32(leastCut); size <= mostCut; size++ {
				found := copiesOf(t, cfg, cutBatch(b, size))
				var extra []int
				for i := range b.Frames {
					if (found[i/64]&^all[i/64])>>(i%64)&1 != 0 {
						extra = append(extra, i+1)
					}
				}
				if countOf(found) > countOf(all) || len(extra) > 0 {
					t.Errorf("%v %v cut to %d: %d copies, of %d; extra %d %v", kind, w, size, countOf(found), countOf(all), len(extra), extra[:min(len(extra), 3)])
				}
			}
		}
	}
}

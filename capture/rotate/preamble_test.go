// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"encoding/binary"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// TestRepeats has names and secrets in every file of their section, and other
// blocks once.
func TestRepeats(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := capturetest.NG(order, 40)
		got := rotate(t, source(t, g.Bytes(), "in"), Options{Size: 1500}, none)
		seen := map[uint32]int{}
		for i, data := range got.files {
			here := map[uint32]int{}
			if err := capturetest.Each(t, source(t, data, "out"), func(b *capture.Batch) {
				for _, k := range b.Blocks {
					here[k.Type]++
				}
			}); err != nil {
				t.Fatal(err)
			}
			if n := len(times(t, data)); n > 0 && here[capture.BlockNameResolution]*here[capture.BlockDecryption]*here[capture.BlockInterface] == 0 {
				t.Errorf("%s: file %d with %d packets: %v", order, i, n, here)
			}
			for kind, n := range here {
				seen[kind] += n
			}
		}
		for _, kind := range []uint32{capture.BlockCustom, capture.BlockJournal, capture.BlockStatistics} {
			if seen[kind] != 2 {
				t.Errorf("%s: %d blocks of type %d in %d files, want 2", order, seen[kind], kind, len(got.files))
			}
		}
	}
}

// TestPreambleBound repeats no more than its bounds.
func TestPreambleBound(t *testing.T) {
	const repeated = 1 << 20 // bytes of names and secrets in each file
	g := &capturetest.File{Order: binary.LittleEndian}
	g.Section(encoding.UnknownLength)
	g.Interface(1, 0)
	for range 5 {
		g.Block(capture.BlockDecryption, make([]byte, repeated/2-64))
	}
	for range 3 {
		g.Enhanced(0, 0, make([]byte, 200_000), 200_000)
	}
	got := rotate(t, source(t, g.Bytes(), "in"), Options{Size: 4096}, none)
	if last := got.files[len(got.files)-1]; len(last) > 2*repeated+1000 || len(times(t, last)) == 0 {
		t.Errorf("the last file has %d bytes and %d packets", len(last), len(times(t, last)))
	}
	secrets := 0
	for _, data := range got.files {
		if err := capturetest.Each(t, source(t, data, "out"), func(b *capture.Batch) {
			for _, k := range b.Blocks {
				if k.Type == capture.BlockDecryption {
					secrets++
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if secrets < 5 {
		t.Errorf("%d blocks of secrets in %d files", secrets, len(got.files))
	}
}

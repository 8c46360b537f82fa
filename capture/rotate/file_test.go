// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// TestHoldsAll compares the packets of all files with the packets of a file that
// is not rotated, byte for byte.
func TestHoldsAll(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		open := inputs[name]
		t.Run(name, func(t *testing.T) {
			for _, p := range patterns {
				src, merged := open(t, 2048)
				rnd, n := rand.New(rand.NewPCG(1, 2)), 0
				want := records(t, one(t, src, merged, func() bool { n++; return p.drop(rnd, n-1) }))
				for _, opt := range []Options{
					{}, {Size: 5000}, {Size: 80_000}, {Every: 7 * time.Second}, {Size: 3000, Every: 20 * time.Second},
				} {
					opt.Merged = merged
					checkRotation(t, fmt.Sprintf("%s, %d bytes, %v", p.name, opt.Size, opt.Every), func(chunk int) rotated {
						src, _ := open(t, chunk)
						rnd, n := rand.New(rand.NewPCG(1, 2)), 0
						return rotate(t, src, opt, func() bool { n++; return p.drop(rnd, n-1) })
					}, opt, want)
				}
			}
		})
	}
}

// TestOfOne has a single packet or block in each file.
func TestOfOne(t *testing.T) {
	for _, name := range []string{"big-endian pcapng", "merged pcapng", "merged pcap"} {
		src, merged := inputs[name](t, 2048)
		want := records(t, one(t, src, merged, none))
		checkRotation(t, name, func(chunk int) rotated {
			src, _ := inputs[name](t, chunk)
			return rotate(t, src, Options{Size: 1, Merged: merged}, none)
		}, Options{Size: 1}, want)
	}
}

// TestNoCopy leaves out blocks and options that are not to be copied.
func TestNoCopy(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		write := func(secret bool) []byte {
			src := source(t, capturetest.NoCopy(order, secret), "in")
			return bytes.Join(rotate(t, src, Options{Size: 1500}, none).files, nil)
		}
		if got := write(true); !bytes.Equal(got, write(false)) || bytes.Contains(got, []byte("secret")) {
			t.Errorf("%v: the output is not that of an input without", order)
		}
	}
}

// TestNothing makes no file that has only headers.
func TestNothing(t *testing.T) {
	section := &capturetest.File{Order: binary.BigEndian}
	section.Section(encoding.UnknownLength)
	for _, g := range []*capturetest.File{capturetest.Pcap(1, 0, 1, 0), section} {
		if got := rotate(t, source(t, g.Bytes(), "in"), Options{Size: 10}, none); len(got.files) != 0 {
			t.Errorf("%q", got.names)
		}
	}
	all := rotate(t, source(t, capturetest.Pcap(1, 10, 1, 0).Bytes(), "in"), Options{Every: 1}, func() bool { return true })
	if len(all.files) != 0 {
		t.Errorf("%q of dropped packets", all.names)
	}
}

func TestAllocations(t *testing.T) {
	r := newFile(t, filepath.Join(t.TempDir(), "out.pcap"), Options{Size: 1 << 40, Every: time.Hour})
	defer r.Discard()
	src := source(t, capturetest.Pcap(1, 500, 1, 0).Bytes(), "in")
	defer src.Close()
	var b capture.Batch
	for len(b.Frames) == 0 {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	drop := make([]uint64, (len(b.Frames)+63)/64)
	for i := range drop {
		drop[i] = 0x8421
	}
	b.Blocks = nil
	if allocs := testing.AllocsPerRun(20, func() {
		if err := r.Write(&b, drop); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0.5 { // the first run makes the file
		t.Errorf("%v allocations for a batch of %d frames", allocs, len(b.Frames))
	}
}

// TestSharedCapturesRotate rotates each shared capture, sound or damaged, copied and
// merged with another.
func TestSharedCapturesRotate(t *testing.T) {
	capturetest.EachShared(t, func(t *testing.T, name string) {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			t.Skip(err) // its header is damaged, or it is no capture
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		rotateShared(t, name, false)
		rotateShared(t, name, true)
	})
}

func rotateShared(t *testing.T, name string, merged bool) {
	t.Helper()
	open := func(chunk int) capture.Source {
		src, err := pcapfile.Open(name, pcapfile.Options{ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		if merged {
			src = pcapfile.Merge([]capture.Source{src, source(t, capturetest.NG(binary.BigEndian, 9).Bytes(), "other")}, nil)
		}
		return src
	}
	drop := func() func() bool { n := 0; return func() bool { n++; return n%3 == 0 } }
	whole := one(t, open(0), merged, drop())
	opt := Options{Size: max(4096, int64(len(whole)/8)), Every: time.Minute, Merged: merged}
	checkRotation(t, "rotated", func(chunk int) rotated {
		return rotate(t, open(chunk), opt, drop())
	}, opt, records(t, whole))
}

// BenchmarkFile writes small packets to a file without end, and to files of 8 MiB.
func BenchmarkFile(b *testing.B) {
	batch := capturetest.WholeBatch(b, source(b, capturetest.SmallPackets().Bytes(), "bench"))
	for _, size := range []int64{1 << 40, 8 << 20} {
		for _, d := range capturetest.BenchDrops {
			b.Run(fmt.Sprintf("size=%d/%s", size, d.Name), func(b *testing.B) {
				r, err := New(filepath.Join(b.TempDir(), "out.pcap"),
					Options{Size: size, Every: 24 * time.Hour, Keep: 2, Output: outfile.Options{NoSync: true}})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Discard()
				capturetest.BenchWriter(b, batch, r, d.Word)
			})
		}
	}
}

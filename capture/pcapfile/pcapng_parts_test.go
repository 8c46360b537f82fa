package pcapfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

// TestNoCopy leaves out what is not to be copied, whichever way a file is read and
// written: what is left is as if it had never been there.
func TestNoCopy(t *testing.T) {
	none := func() bool { return false }
	for _, order := range []forge.Order{binary.LittleEndian, binary.BigEndian} {
		with, without := forge.NoCopy(order, true), forge.NoCopy(order, false)
		for _, chunk := range []int{0, 1, 100} {
			equal(t, readAll(t, open(t, with, Options{ChunkSize: chunk})), readAll(t, open(t, without, Options{})))
		}
		written := map[string]func(data []byte) []byte{
			"one":    func(data []byte) []byte { return split(t, source(t, data, "in"), false, none).kept.Bytes() },
			"merged": func(data []byte) []byte { return mergedNG(t, data).kept.Bytes() },
		}
		for name, write := range written {
			got := write(with)
			if !bytes.Equal(got, write(without)) || bytes.Contains(got, []byte("secret")) {
				t.Errorf("%v, %s: the output is not that of an input without", order, name)
			}
		}
	}
}

// TestNoCopyBrokenList ends a list where it breaks, behind what was left out.
func TestNoCopyBrokenList(t *testing.T) {
	for _, order := range []forge.Order{binary.LittleEndian, binary.BigEndian} {
		g := &forge.File{Order: order}
		g.Section(encoding.UnknownLength)
		g.Interface(1, 0)
		broken := g.U16(nil, encoding.OptComment, 4000)
		g.Enhanced(0, 1, []byte("data"), 4, g.Option(encoding.OptCustomDataOnce, []byte("gone")), g.Option(encoding.OptComment, []byte("kept")), broken)
		warned := 0
		w := readAll(t, open(t, g.Bytes(), Options{Warn: func(error) { warned++ }}))
		want := &forge.File{Order: order}
		want.Enhanced(0, 1, []byte("data"), 4, want.Option(encoding.OptComment, []byte("kept")), want.End())
		if w.err != nil || warned != 1 || len(w.packets) != 1 || w.packets[0].record != string(want.Bytes()) {
			t.Errorf("%v: %d warnings, %v, %+v", order, warned, w.err, w.packets)
		}
	}
}

func TestClock(t *testing.T) {
	for _, c := range []struct {
		res    resolution
		offset int64
		ticks  uint64
		want   int64
		per    uint64
	}{
		{6, 0, 1_700_000_000_123_456, 1_700_000_000_123_456_000, 1e6},
		{6, 0, math.MaxUint64, math.MaxInt64, 1e6},
		{9, 0, math.MaxInt64, math.MaxInt64, 1e9},
		{9, 0, math.MaxInt64 + 1, math.MaxInt64, 1e9},
		{9, -1, 5, -999_999_995, 1e9},
		{0, 0, 7, 7e9, 1},
		{0, 0, math.MaxUint64, math.MaxInt64, 1},
		{0, math.MaxInt64, math.MaxUint64, math.MaxInt64, 1},
		{0, math.MinInt64, 0, math.MinInt64 + 1, 1},
		{0, -9_223_372_037, 0, math.MinInt64 + 1, 1},
		{9, -9_223_372_037, 145_224_192, math.MinInt64 + 1, 1e9},
		{9, -9_223_372_037, 145_224_193, math.MinInt64 + 1, 1e9},
		{9, -9_223_372_037, 145_224_194, math.MinInt64 + 2, 1e9},
		{0, math.MinInt64, math.MaxUint64, math.MaxInt64, 1},
		{9, -18_446_744_073, math.MaxUint64, 709_551_615, 1e9},
		{12, 0, 1_999, 1, 1e12},
		{12, 3, 1_999, 3_000_000_001, 1e12},
		{18, 0, 1_999_999_999, 1, 1e18},
		{19, 0, math.MaxUint64, 1_844_674_407, 1 << 63},
		{28, 0, math.MaxUint64, 1, 1 << 63},
		{29, 0, math.MaxUint64, 0, 1 << 63},
		{127, 2, math.MaxUint64, 2e9, 1 << 63},
		{0x80, 0, 3, 3e9, 1},
		{0x80 | 10, 0, 1536, 1_500_000_000, 1024},
		{0x80 | 32, 0, 1<<32 + 1<<31, 1_500_000_000, 1 << 32},
		{0x80 | 63, 0, math.MaxUint64, 1_999_999_999, 1 << 63},
		{0x80 | 64, 0, math.MaxUint64, 999_999_999, 1 << 63},
		{0x80 | 65, 1, math.MaxUint64, 1_499_999_999, 1 << 63},
		{0x80 | 93, 0, math.MaxUint64, 1, 1 << 63},
		{0x80 | 127, 0, math.MaxUint64, 0, 1 << 63},
	} {
		t.Run(fmt.Sprintf("%#x/%d/%d", uint8(c.res), c.offset, c.ticks), func(t *testing.T) {
			clock := newClock(c.res, c.offset, 0)
			if got := clock.nanoseconds(c.ticks); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
			if got := c.res.ticksPerSecond(); got != c.per {
				t.Errorf("%d ticks per second, want %d", got, c.per)
			}
		})
	}
}

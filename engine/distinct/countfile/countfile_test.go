// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/distinct"
)

// contents are the contents of a set, or of a sketch of it.
func contents(width uint, words []uint64, sketched bool) distinct.Contents {
	words = slices.Compact(slices.Sorted(slices.Values(words)))
	c := distinct.Contents{Width: width, Count: uint64(len(words)), Words: slices.Values(words)}
	if sketched {
		s := new(distinct.Sketch)
		for _, word := range words {
			s.Add(nil, []uint64{c.Hash(word)})
		}
		return distinct.Contents{Width: width, Sketch: s}
	}
	return c
}

var testHeader = Header{Sensor: "roof", Settings: []Setting{{"of", "src"}, {KeySetting, "00"}}}

// saved writes one window with a series for each of some contents, and opens it again.
func saved(t testing.TB, all ...distinct.Contents) (*File, []byte) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, testHeader)
	err := w.Window(Whole(-5, 100))
	for i, c := range all {
		err = errors.Join(err, w.Series("src", fmt.Sprint(i), 7, c))
	}
	n, err2 := w.Close()
	f, err3 := Open("x.counts", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err := errors.Join(err, err2, err3); err != nil || n != int64(b.Len()) {
		t.Fatal(err, n)
	}
	return f, b.Bytes()
}

// draw returns n words of a pool of a size, which sensors share.
func draw(rng *rand.Rand, width uint, pool uint64, n int) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = max(1, rand.NewPCG(rng.Uint64N(pool), 5).Uint64()>>(64-width))
	}
	return words
}

// TestMerge compares unions and overlaps of sets with maps.
func TestMerge(t *testing.T) {
	for _, width := range []uint{32, 64} {
		for _, sizes := range [][]int{{0}, {1}, {0, 0}, {100, 0, 1}, {30_000, 20_000, 9_000, 25_000, 10, 8192, 8193}} {
			rng := rand.New(rand.NewPCG(uint64(len(sizes)), uint64(width)))
			sensors := max(1, len(sizes)-1) // the last two are of one
			var parts []Part
			sets := make([]map[uint64]bool, sensors)
			for i, n := range sizes {
				words := draw(rng, width, 40_000, n)
				if n > 1 {
					words = append(words, 1, math.MaxUint64>>(64-width)) // the extremes
				}
				f, _ := saved(t, contents(width, words, false))
				parts = append(parts, Part{min(i, sensors-1), &f.Windows[0].Series[0]})
				if sets[min(i, sensors-1)] == nil {
					sets[min(i, sensors-1)] = map[uint64]bool{}
				}
				for _, w := range words {
					sets[min(i, sensors-1)][w] = true
				}
			}
			got, err := Merge(context.Background(), parts, sensors, true)
			if err != nil {
				t.Fatal(err)
			}
			all := map[uint64]int{}
			for i, set := range sets {
				for w := range set {
					all[w]++
				}
				if got.Sensors[i] != distinct.Exactly(uint64(len(set))) {
					t.Errorf("sensor %d has %v, want %d", i, got.Sensors[i], len(set))
				}
			}
			if n := uint64(len(all)); got.Distinct != n || got.Low != n || got.High != n || got.Packets != uint64(7*len(sizes)) {
				t.Errorf("%d bits, %d: union %+v, want %d", width, sizes, got.Counts, n)
			}
			for a, set := range sets {
				only := 0
				for w := range set {
					if all[w] == 1 {
						only++
					}
				}
				if got.Only[a] != distinct.Exactly(uint64(only)) {
					t.Errorf("only sensor %d: %v, want %d", a, got.Only[a], only)
				}
				for b := a + 1; b < sensors; b++ {
					both := 0
					for w := range set {
						if sets[b][w] {
							both++
						}
					}
					if got.Both[a][b] != distinct.Exactly(uint64(both)) {
						t.Errorf("sensors %d and %d: %v, want %d", a, b, got.Both[a][b], both)
					}
				}
			}
		}
	}
}

// TestMergeLowBound unites a large set with a sketch of one word: there are at least as many words as
// the set has.
func TestMergeLowBound(t *testing.T) {
	for seed := range uint64(4) { // a sketch may estimate more by chance
		rng := rand.New(rand.NewPCG(13, seed))
		words := draw(rng, 64, 60_000, 40_000)
		slices.Sort(words)
		n := uint64(len(slices.Compact(slices.Clone(words))))
		var parts []Part
		for i, words := range [][]uint64{words, words[:1]} {
			f, _ := saved(t, contents(64, words, i == 1))
			parts = append(parts, Part{i, &f.Windows[0].Series[0]})
		}
		m, err := Merge(context.Background(), parts, len(parts), true)
		if err != nil || m.Method != methodSketch || m.Low < n || m.Distinct < n || m.High < m.Distinct || m.Sensors[0] != distinct.Exactly(n) {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// TestMergeSketches unites sets and sketches, in both widths: the truth lies in all bounds.
func TestMergeSketches(t *testing.T) {
	for _, width := range []uint{32, 64} {
		rng := rand.New(rand.NewPCG(9, uint64(width)))
		var parts []Part
		var sets []map[uint64]bool
		all := map[uint64]int{}
		for i, n := range []int{40_000, 30_000, 20_000} {
			words := draw(rng, width, 60_000, n)
			f, _ := saved(t, contents(width, words, i < 2))
			parts = append(parts, Part{i, &f.Windows[0].Series[0]})
			set := maps.Collect(func(yield func(uint64, bool) bool) {
				for _, w := range words {
					yield(w, true)
				}
			})
			for w := range set {
				all[w]++
			}
			sets = append(sets, set)
		}
		m, err := Merge(context.Background(), parts, len(parts), true)
		if err != nil || m.Method != methodSketch {
			t.Fatal(err, m.Method)
		}
		inside := func(what string, e distinct.Estimate, n int) {
			if e.Low > uint64(n) || e.High < uint64(n) || e.Low > e.Distinct || e.Distinct > e.High {
				t.Errorf("%d bits, %s: %v, the truth is %d", width, what, e, n)
			}
		}
		inside("union", distinct.Estimate{Distinct: m.Distinct, Low: m.Low, High: m.High}, len(all))
		for a, set := range sets {
			only, both := 0, 0
			for w := range set {
				if all[w] == 1 {
					only++
				}
				if sets[2][w] {
					both++
				}
			}
			inside("sensor", m.Sensors[a], len(set))
			inside("only", m.Only[a], only)
			if a < 2 {
				inside("both", m.Both[a][2], both)
			}
		}
		if m.Sensors[2] != distinct.Exactly(uint64(len(sets[2]))) {
			t.Errorf("the sensor with a set has %v", m.Sensors[2])
		}
	}
}

// TestRows saves a counter in rows, and reads its words.
func TestRows(t *testing.T) {
	rows, err := distinct.NewDigestRows(0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	rng := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		digests := make([]digest.Digest, 256)
		for i := range digests {
			digests[i] = digest.Digest{rng.Uint64()}
		}
		rows.TestAndSet(make([]uint64, 4), digests)
	}
	f, b := saved(t, rows.Contents())
	m, err := Merge(context.Background(), []Part{{0, &f.Windows[0].Series[0]}}, 1, false)
	if err != nil || m.Distinct != rows.Counts().Distinct {
		t.Errorf("merged %d, %v, want %d", m.Distinct, err, rows.Counts().Distinct)
	}
	if perKey := float64(len(b)) / float64(m.Distinct); perKey > 6.7 {
		t.Errorf("%.2f bytes a key", perKey)
	}
}

// TestDamage changes and cuts a file anywhere: each is refused, with the offset.
func TestDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	_, whole := saved(t, contents(64, draw(rng, 64, 1<<40, 300), false), contents(32, draw(rng, 32, 1<<30, 30), true), contents(64, nil, false))
	check := func(what string, b []byte) {
		t.Helper()
		f, err := Open("x.counts", bytes.NewReader(b), int64(len(b)))
		if err == nil {
			for i := range f.Windows[0].Series {
				_, one := Merge(context.Background(), []Part{{0, &f.Windows[0].Series[i]}}, 1, true)
				err = errors.Join(err, one)
			}
		}
		if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "x.counts: byte ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	for at := range whole {
		if at > 300 && at%53 != 0 && at < len(whole)-20 {
			continue
		}
		check(fmt.Sprintf("cut at %d", at), whole[:at])
		damaged := slices.Clone(whole)
		damaged[at] ^= 0x10
		check(fmt.Sprintf("byte %d changed", at), damaged)
	}
	check("a byte more", append(slices.Clone(whole), 0))
}

// TestDiffer checks the reasons why files do not merge.
func TestDiffer(t *testing.T) {
	file := func(settings ...Setting) *File { return &File{Name: "f", Header: Header{Settings: settings}} }
	a := file(Setting{"every", "1h"}, Setting{KeySetting, "1"})
	for want, b := range map[string]*File{
		"":                    file(Setting{"every", "1h"}, Setting{KeySetting, "1"}),
		"--every 15m":         file(Setting{"every", "15m"}, Setting{KeySetting, "1"}),
		"another --key":       file(Setting{"every", "1h"}, Setting{KeySetting, "2"}),
		"other settings":      file(Setting{"every", "1h"}),
		"other settings than": file(Setting{"mask4", "24"}, Setting{KeySetting, "1"}),
	} {
		if err := Differ(a, b); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// FuzzOpen reads any bytes as a file, as they are and with right checksums, and merges
// its windows.
func FuzzOpen(f *testing.F) {
	_, a := saved(f, contents(64, []uint64{1, 2, 5, math.MaxUint64}, false), contents(32, nil, false))
	_, b := saved(f, contents(32, []uint64{0, 9, math.MaxUint32}, false), contents(32, []uint64{4}, true))
	f.Add(a, false)
	f.Add(b, true)
	f.Add([]byte(magic), false)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal {
			b = sealed(b)
		}
		file, err := Open("x", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v", err)
			}
			return
		}
		for _, w := range file.Windows {
			for i := range w.Series {
				parts := []Part{{0, &w.Series[i]}, {1, &w.Series[0]}}
				m, err := Merge(context.Background(), parts, 2, true)
				if err == nil && (m.Low > m.Distinct || m.Distinct > m.High) {
					t.Errorf("counts %+v", m.Counts)
				}
			}
		}
	})
}

// sealed gives each record of b the checksum that fits.
func sealed(b []byte) []byte {
	b = slices.Clone(b)
	for at := len(magic); at+recordHead+recordTail <= len(b); {
		n := int(b[at+1]) | int(b[at+2])<<8 | int(b[at+3])<<16
		end := at + recordHead + n
		if b[at+4] != 0 || end+recordTail > len(b) {
			break
		}
		binary.LittleEndian.PutUint32(b[end:], checksum(b[at:end]))
		at = end + recordTail
	}
	return b
}

// TestSeriesRefused wants contents that no file can hold to be errors when they are written, not
// when files are merged.
func TestSeriesRefused(t *testing.T) {
	sample := contents(32, []uint64{8, 16}, false)
	sample.Level = 1
	for name, tt := range map[string]struct {
		windows  int
		contents distinct.Contents
		want     error
	}{
		"before a window": {0, contents(32, []uint64{1}, false), errSeries},
		"a sample":        {1, sample, errSeries},
		"a set":           {1, contents(32, []uint64{1}, false), nil},
	} {
		w := NewWriter(new(bytes.Buffer), testHeader)
		for range tt.windows {
			if err := w.Window(Whole(0, 1)); err != nil {
				t.Fatal(err)
			}
		}
		err := w.Series("src", "ipv4", 1, tt.contents)
		_, atClose := w.Close()
		if !errors.Is(err, tt.want) || !errors.Is(atClose, tt.want) {
			t.Errorf("%s: %v, and %v at the end", name, err, atClose)
		}
	}
}

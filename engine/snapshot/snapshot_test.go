// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

var testSecret = engine.Secret{4, 5, 6}

// numbers is one field of each kind.
type numbers struct {
	i     int64
	small uint8
	flag  bool
	fixed [3]uint64
	other []int64
}

func (n *numbers) fields() Fields { return Fields{&n.i, &n.small, &n.flag, n.fixed[:], n.other} }

// lines returns an arena in which every third line is not zero.
func lines(t *testing.T, n int) *layout.Arena {
	t.Helper()
	arena, err := layout.NewArena(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { arena.Close() })
	for i := 0; i < n; i += 3 {
		arena.Lines()[i][i%8] = uint64(i) + 1
	}
	return arena
}

func saved(t *testing.T, n *numbers, arena *layout.Arena) []byte {
	t.Helper()
	var b bytes.Buffer
	out := NewWriter(&b, Timed, testSecret, "label", n.fields())
	out.Lines(arena, 0, len(arena.Lines()))
	if err := out.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// closer counts how often it is closed.
type closer int

func (c *closer) Close() error { *c++; return nil }

func newCloser(RestoreConfig) (*closer, error) { return new(closer), nil }

// linesInto reads the lines of a snapshot.
func linesInto(lines []layout.Line) func(*closer, *Reader) error {
	return func(_ *closer, in *Reader) error { return in.Lines(lines) }
}

func TestRoundTrip(t *testing.T) {
	for _, size := range []int{1, 64, partLines, partLines + 1, 3*partLines - 1} {
		arena := lines(t, size)
		n := numbers{math.MinInt64, 200, true, [3]uint64{1, math.MaxUint64, 3}, []int64{-1, 5}}
		data := append(saved(t, &n, arena), "behind"...)
		from, got, all := bytes.NewReader(data), numbers{other: make([]int64, 2)}, make([]layout.Line, size)
		c := RestoreConfig{Secret: testSecret, Label: "label"}
		if _, err := Restore(from, Timed, c, got.fields(), newCloser, linesInto(all)); err != nil {
			t.Fatal(err)
		}
		if got.i != n.i || got.small != n.small || got.flag != n.flag || got.fixed != n.fixed || !slices.Equal(got.other, n.other) {
			t.Errorf("%+v, want %+v", got, n)
		}
		if !slices.Equal(all, arena.Lines()) {
			t.Errorf("%d lines: others", size)
		}
		if from.Len() != len("behind") {
			t.Errorf("%d bytes are left, want %d", from.Len(), len("behind"))
		}
	}
}

func TestHeaderErrors(t *testing.T) {
	arena := lines(t, 10)
	good := saved(t, &numbers{i: 300}, arena)
	word := func(at int, to uint64) []byte {
		data := slices.Clone(good)
		binary.LittleEndian.PutUint64(data[8*at:], to)
		return data
	}
	var small struct{ numbers }
	for _, c := range []struct {
		name   string
		data   []byte
		config RestoreConfig
		fields Fields
		says   string
	}{
		{"magic", word(0, 1), RestoreConfig{Secret: testSecret, Label: "label"}, small.fields(), "not a snapshot"},
		{"version", word(1, 2), RestoreConfig{Secret: testSecret, Label: "label"}, small.fields(), "version 2"},
		{"kind", word(2, uint64(Stream)), RestoreConfig{Secret: testSecret, Label: "label"}, small.fields(), "of a filter of kind stream, must be of kind timed"},
		{"key", good, RestoreConfig{Label: "label"}, small.fields(), "another key"},
		{"label", good, RestoreConfig{Secret: testSecret, Label: "other"}, small.fields(), `"label", must be "other"`},
		{"long label", good, RestoreConfig{Secret: testSecret, Label: strings.Repeat("l", MaxLabel+1)}, small.fields(), "at most 64"},
		{"count", good, RestoreConfig{Secret: testSecret, Label: "label"}, Fields{&small.i}, "6 fields, must be 1"},
		{"seal", word(14, 301), RestoreConfig{Secret: testSecret, Label: "label"}, small.fields(), "seal does not fit"},
		{"end", good[:130], RestoreConfig{Secret: testSecret, Label: "label"}, small.fields(), "ends in its header"},
		{
			"overflow", good, RestoreConfig{Secret: testSecret, Label: "label"},
			Fields{&small.small, &small.small, &small.flag, small.fixed[:]}, "do not belong together",
		},
	} {
		_, err := newReader(bytes.NewReader(c.data), Timed, c.config, c.fields)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

func TestRestoreErrors(t *testing.T) {
	arena := lines(t, 10)
	data := saved(t, new(numbers), arena)
	for _, c := range []struct {
		name  string
		cut   int
		lines int
		says  string
	}{
		{"too few lines", 0, 9, "more than 9 lines"},
		{"no seal", 16, 10, "ends in its seal of the lines"},
		{"no lines", 100, 10, "ends in its lines"},
	} {
		filter := new(closer)
		same := func(RestoreConfig) (*closer, error) { return filter, nil }
		from, config := bytes.NewReader(data[:len(data)-c.cut]), RestoreConfig{Secret: testSecret, Label: "label"}
		_, err := Restore(from, Timed, config, new(numbers).fields(), same, linesInto(make([]layout.Line, c.lines)))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) || *filter != 1 {
			t.Errorf("%s: %v, closed %d times; want %q, once", c.name, err, *filter, c.says)
		}
	}
	if err := (RestoreConfig{Memory: 640}).Allow(11); !errors.Is(err, engine.ErrMemory) {
		t.Errorf("11 lines in 640 bytes: %v", err)
	}
}

// TestCopy changes lines while they are copied: the copy has them as they were.
func TestCopy(t *testing.T) {
	arena := lines(t, 3*64*wordsAtOnce)
	want := saved(t, new(numbers), arena)
	var c Copy
	defer c.Close()
	out := NewWriter(&c, Timed, testSecret, "label", new(numbers).fields())
	keep := out.Lines(arena, 0, len(arena.Lines()))
	if err := out.End(); err != nil {
		t.Fatal(err)
	}
	if c.Start() {
		t.Error("it starts without memory")
	}
	if err := c.Reserve(c.Lines(), func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	if !c.Start() || !keep.Copying() {
		t.Fatal("it does not start")
	}
	parts := 0
	for done := false; !done; done = c.Copy(0) {
		for line := parts; line < len(arena.Lines()); line += 1000 {
			keep.KeepRange(line, line+1)
			arena.Lines()[line][0] = ^uint64(0)
		}
		parts++
	}
	if keep.Copying() || parts < 3 {
		t.Errorf("copied in %d parts, copying %v", parts, keep.Copying())
	}
	var got bytes.Buffer
	if n, err := c.WriteTo(&got); err != nil || n != int64(len(want)) || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, %v: not what was written before", n, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/engine/window"
)

const pcaps = "../../testdata/pcaps/"

// truth says which records of captures are copies.
type truth struct {
	Files    []string
	Identity string
	Ignore   []string
	Window   time.Duration `json:"window_ns"`
	Across   bool
	Removed  []int
}

// config returns what finds the copies.
func (want *truth) config() dedup.Config {
	var cfg identity.Config
	if want.Identity == "inner" {
		cfg.Kind = identity.Inner
	}
	if want.Ignore != nil {
		cfg.Ignore = identity.IgnoreAlso(identity.L4Checksum)
	}
	return dedup.Config{Identity: cfg, Window: window.Window{Duration: want.Window}, Across: want.Across}
}

// open returns the captures, merged.
func (want *truth) open(t *testing.T) capture.Source {
	var sources []capture.Source
	for _, name := range want.Files {
		src, err := pcapfile.Open(pcaps+name, pcapfile.Options{ChunkSize: 8 << 10})
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	src := pcapfile.Merge(sources, nil)
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// eachTruth runs a test for all captures whose copies are known.
func eachTruth(t *testing.T, test func(t *testing.T, want *truth)) {
	names, err := filepath.Glob(pcaps + "*.truth.json")
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var want truth
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			test(t, &want)
		})
	}
}

// detector makes a Detector that is closed with the test.
func detector(t *testing.T, cfg dedup.Config) *dedup.Detector {
	d, err := dedup.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// marked appends the numbers of the packets whose bit is set, behind n packets.
func marked(to []int, drop []uint64, n, packets int) []int {
	for i := range packets {
		if capture.IsSet(drop, i) {
			to = append(to, n+i)
		}
	}
	return to
}

// TestCopies finds the copies that are known, whatever the size of batches is.
func TestCopies(t *testing.T) {
	eachTruth(t, func(t *testing.T, want *truth) {
		src, whole, single := want.open(t), detector(t, want.config()), detector(t, want.config())
		var got, one []int
		var b capture.Batch
		for n := 0; ; n += len(b.Frames) {
			if err := src.Next(&b); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			got = marked(got, whole.Copies(&b), n, len(b.Frames))
			part := b
			for i := range b.Frames {
				part.Frames = b.Frames[i : i+1]
				one = marked(one, single.Copies(&part), n+i, 1)
			}
		}
		if !slices.Equal(got, want.Removed) || !slices.Equal(one, want.Removed) {
			t.Errorf("got %v, one by one %v, want %v", got, one, want.Removed)
		}
	})
}

// writeFunc is a PacketWriter.
type writeFunc func(b *capture.Batch, drop []uint64) error

func (w writeFunc) Write(b *capture.Batch, drop []uint64) error { return w(b, drop) }

// eachKept calls a function for each packet that stays.
func eachKept(b *capture.Batch, drop []uint64, do func(i int)) error {
	for i := range b.Frames {
		if !capture.IsSet(drop, i) {
			do(i)
		}
	}
	return nil
}

// dropped is a writer that notes which packets are left out.
type dropped struct {
	n    int
	drop []int
}

func (w *dropped) Write(b *capture.Batch, drop []uint64) error {
	w.drop = marked(w.drop, drop, w.n, len(b.Frames))
	w.n += len(b.Frames)
	return nil
}

// TestTasks finds them with any number of workers.
func TestTasks(t *testing.T) {
	eachTruth(t, func(t *testing.T, want *truth) {
		for _, workers := range []int{1, 4} {
			var w dropped
			p := pipeline.New(want.open(t))
			if err := p.Run(context.Background(), workers, detector(t, want.config()).Tasks(&w)); err != nil {
				t.Error(err)
			}
			if !slices.Equal(w.drop, want.Removed) {
				t.Errorf("%d workers: got %v, want %v", workers, w.drop, want.Removed)
			}
		}
	})
}

// TestFilter judges by a filter and digests of the caller's.
func TestFilter(t *testing.T) {
	filter, err := window.NewExact(window.ExactConfig{Window: window.Window{Packets: 2}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dedup.New(dedup.Config{
		Identity: identity.Config{Kind: identity.Frame}, Filter: filter,
		Digester: func() digest.MessageDigester { return digest.NewAES([16]byte{}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for _, text := range []string{"a", "b", "a", "c", "d", "b", "d"} {
		b.Append(capture.Frame{Interface: at, Time: capture.NoTime}, []byte(text))
	}
	if got := marked(nil, d.Copies(&b), 0, len(b.Frames)); !slices.Equal(got, []int{2, 6}) || d.Stats().Method != "exact" {
		t.Errorf("copies %v by %s", got, d.Stats().Method)
	}
	d.Copies(&b) // the same again: what came before has left the window
	if s := d.Stats(); s.Packets != 14 || s.Copies != 4 {
		t.Errorf("%d packets, %d copies", s.Packets, s.Copies)
	}
}

// TestExampleEnds leaves no file behind an input that is damaged.
func TestExampleEnds(t *testing.T) {
	whole, err := os.ReadFile(pcaps + "router-plain.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, whole[:len(whole)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeCopies(t.Context(), in, out); !capture.IsDamage(err) {
		t.Error(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

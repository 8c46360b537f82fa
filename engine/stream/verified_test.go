// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/window"
)

// hasty is a filter that is often wrong: a stable Bloom filter in little memory.
func hasty(t *testing.T) *Packets {
	t.Helper()
	f, err := NewPackets(Config{Method: "sbf", Memory: 64 * 64, FPR: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func verified(t *testing.T, f engine.PacketFilter, memory int) *Verified {
	t.Helper()
	v, err := NewVerified(f, memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// TestVerified has no false positive with a filter that has many, and finds each copy that the
// filter and a table by itself find.
func TestVerified(t *testing.T) {
	p := check.RandomPackets(71, 60_000, check.Clocks(1000)["jumps"])
	exact, err := window.NewExact(window.ExactConfig{Window: window.Window{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	truth, reported := p.Verdicts(exact, 512), p.Verdicts(hasty(t), 512)
	for _, memory := range []int{64, 4 << 10, 16 << 20} {
		table, err := NewPackets(Config{Shape: "8x64", Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		known, v := p.Verdicts(table, 512), verified(t, hasty(t), memory)
		wrong, found, unverified := 0, 0, uint64(0)
		for i, isCopy := range p.Verdicts(v, 700) {
			if isCopy != (reported[i] && known[i]) || isCopy && !truth[i] {
				t.Fatalf("%d bytes, packet %d: copy %v, reported %v, known %v, in truth %v", memory, i, isCopy, reported[i], known[i], truth[i])
			}
			if isCopy {
				found++
			}
			if reported[i] && !known[i] {
				unverified++
			}
			if reported[i] && !truth[i] {
				wrong++
			}
		}
		if wrong < 500 || v.Unverified() != unverified {
			t.Errorf("%d bytes: %d false positives, %d unverified, want %d", memory, wrong, v.Unverified(), unverified)
		}
		if memory == 16<<20 && (unverified != uint64(wrong) || found == 0) {
			t.Errorf("%d bytes: %d found, %d unverified, %d of them false", memory, found, unverified, wrong)
		}
		inner, s := hasty(t).Stats(), v.Stats()
		if s.Method != "sbf" || s.MemoryBytes != inner.MemoryBytes+table.Stats().MemoryBytes || s.PredictedFPR > 1e-18 {
			t.Errorf("%+v", s)
		}
	}
}

// TestVerifiedSaved ends and resumes within a stream, while it is copied, too.
func TestVerifiedSaved(t *testing.T) {
	p := check.RandomPackets(72, 20_000, check.Clocks(1000)["jumps"])
	want := p.Verdicts(verified(t, hasty(t), 64<<10), 512)
	v, half := verified(t, hasty(t), 64<<10), 9000
	got := p.Part(0, half).Verdicts(v, 300)
	data := check.Saved(t, v)
	restore := func(r io.Reader) (*Verified, error) {
		f, err := RestorePackets(r, check.SavedConfig)
		if err != nil {
			return nil, err
		}
		return RestoreVerified(f, v.Unverified(), r, check.SavedConfig)
	}
	restored, err := restore(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if err := restored.Populate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got = append(got, p.Part(half, len(want)).Verdicts(restored, 300)...); !slices.Equal(got, want) {
		t.Error("other verdicts after a restart")
	}
	if restored.Unverified() <= v.Unverified() {
		t.Errorf("%d unverified, %d before the restart", restored.Unverified(), v.Unverified())
	}
	if _, err := restore(bytes.NewReader(data[:len(data)-1])); !errors.Is(err, snapshot.ErrInvalid) {
		t.Error(err)
	}
	check.PacketCopies(t, verified(t, hasty(t), 4<<20))
}

func TestVerifiedErrors(t *testing.T) {
	if v, err := NewVerified(hasty(t), 1); !errors.Is(err, engine.ErrMemory) || v != nil {
		t.Errorf("%v, %v", v, err)
	}
	exact, err := window.NewExact(window.ExactConfig{Window: window.Window{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := verified(t, exact, 64).Snapshot(io.Discard, engine.Secret{}, "x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// TestVerifiedGrows passes on that a filter grows when its memory is ready.
func TestVerifiedGrows(t *testing.T) {
	f := &growing{}
	verified(t, f, 64).GrowWhenReady()
	verified(t, hasty(t), 64).GrowWhenReady() // which has none
	if !f.asked {
		t.Error("not passed on")
	}
}

type growing struct {
	engine.PacketFilter
	asked bool
}

func (g *growing) GrowWhenReady() { g.asked = true }
func (g *growing) Close() error   { return nil }

// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine/window"
)

// TestSavedStays saves a run in its middle. What was saved does not change afterwards,
// and a second run continues from it.
func TestSavedStays(t *testing.T) {
	window, err := window.Parse("1h")
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{Digest: "aes", Method: "timed", Window: window, Memory: 1 << 20, Across: true}
	b := routed(t)
	b.Append(capture.Frame{Time: b.Frames[0].Time}, []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x88\xb5 not opened"))
	elsewhere := func() { // the same packets come to other interfaces
		for i := range b.Frames {
			b.Frames[i].Interface = (b.Frames[i].Interface + 1) % uint32(len(b.Interfaces))
		}
	}
	first, err := New(cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	find := func(d *dedup.Detector) Summary {
		d.Copies(b)
		return Summarize(cfg, d, 0)
	}
	find(first)
	elsewhere()
	find(first)
	var snapshot bytes.Buffer
	saved, err := Save(cfg, first, &snapshot)
	if err != nil {
		t.Fatal(err)
	}
	atOnce := saved
	elsewhere()
	want := find(first)
	if !reflect.DeepEqual(saved, atOnce) || saved.Copies == 0 || want.Duplicates == saved.Copies {
		t.Errorf("%d duplicates were saved, then there were %d: %+v, and was %+v", saved.Copies, want.Duplicates, saved, atOnce)
	}
	second, err := Resume(cfg, &snapshot, &saved)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := find(second); !reflect.DeepEqual(got, want) || want.Unopened["ethertype-88b5"] != 3 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSavedMethods resumes filters of methods for experiments, and of coarse rows, which
// --fpr chooses. The copies of every second filter are verified.
func TestSavedMethods(t *testing.T) {
	for i, c := range []struct {
		method, window string
		params         method.Params
		fpr            float64
		want           string
	}{
		{"timers", "1h", method.Params{"K": 4, "equal": 2}, 0, "timers"}, {"sbf", "none", method.Params{"K": 3, "P": 10, "Max": 3}, 0, "sbf"},
		{"lru", "none", method.Params{"cells": 16}, 0, "lru"}, {"coarse", "1h", nil, 0, "coarse"}, {"auto", "1h", nil, 1e-6, "coarse"},
		{"fine", "1h", nil, 0, "fine"}, {"auto", "1h", nil, 8e-7, "fine"}, {"auto", "1h", nil, 1e-9, "fine"}, {"auto", "1h", nil, 6e-10, "timed"}, {"auto", "1h", nil, 0, "timed"}, {"auto", "none", nil, 1e-4, "timed"}, {"auto", "landmark:1s", nil, 0, "timed"}, {"auto", "landmark:n:700", nil, 0, "timed"}, {"coarse", "landmark:n:700", nil, 0, "coarse"}, {"fine", "landmark:1h", nil, 0, "fine"}, {"timed", "1h", nil, 1e-4, "timed"},
	} {
		window, err := window.Parse(c.window)
		if err != nil {
			t.Fatal(err)
		}
		cfg := &Config{Digest: "aes", Method: c.method, Params: c.params, Window: window, Memory: 1 << 16, FPR: c.fpr, Verify: i % 2 << 16}
		b := routed(t)
		find := func(d *dedup.Detector) Summary {
			d.Copies(b)
			return Summarize(cfg, d, 0)
		}
		first, err := New(cfg, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		find(first)
		var snapshot bytes.Buffer
		saved, err := Save(cfg, first, &snapshot)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Resume(cfg, &snapshot, &saved)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		want := find(first)
		if got := find(second); !reflect.DeepEqual(got, want) || want.Duplicates == saved.Copies || want.Method != c.want {
			t.Errorf("%s: %+v, want %+v", c.method, got, want)
		}
	}
}

// routed returns the first packets of a capture from a router's interfaces.
func routed(t *testing.T) *capture.Batch {
	t.Helper()
	src, err := pcapfile.Open(filepath.Join("..", "..", "..", "..", "testdata", "pcaps", "router-vlan.pcapng"), pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b := &capture.Batch{}
	for len(b.Frames) == 0 {
		if err := src.Next(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestByInput counts packets and copies by the input of their interface.
func TestByInput(t *testing.T) {
	c := newByInput([]string{"a", "b", "c"})
	b := &capture.Batch{
		Sections:   []capture.Section{{Input: 0}, {Input: 2}, {Input: 0}},
		Interfaces: []capture.Interface{{Section: 0}, {Section: 1}, {Section: 2}, {Section: 1}},
	}
	want := byInput{{Input: "a"}, {Input: "b"}, {Input: "c"}}
	drop := make([]uint64, 3)
	for i := range 150 {
		at := uint32(i*i/7) % 4
		b.Frames = append(b.Frames, capture.Frame{Interface: at})
		n := &want[[]int{0, 2, 0, 2}[at]]
		n.Packets++
		if i%3 == 0 {
			drop[i/64] |= 1 << (i % 64)
			n.Duplicates++
		}
	}
	c.add(b, drop)
	c.add(&capture.Batch{}, nil)
	if !slices.Equal(c, want) {
		t.Errorf("%v, want %v", c, want)
	}
	one := newByInput([]string{"a"})
	one.add(b, drop)
	if one != nil {
		t.Errorf("counts of one input: %v", one)
	}
}

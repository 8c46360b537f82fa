package live

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// sink is a destination that notes what happens to it.
type sink struct {
	fail   error // of Write
	end    error // of commit
	taken  []uint64
	events []string
}

func (s *sink) Write(_ *capture.Batch, drop []uint64) error {
	if s.fail != nil {
		return s.fail
	}
	s.taken = append(s.taken, drop...)
	return nil
}

func (s *sink) commit() error {
	s.events = append(s.events, "commit")
	return s.end
}

func (s *sink) abort() error {
	s.events = append(s.events, "abort")
	return nil
}

func (s *sink) count() uint64 { return uint64(len(s.taken)) }

var errFull = errors.New("full")

// newOutputs returns outputs for the packets kept, a and b, what is logged of them, and
// how often they end the capture.
func newOutputs(a, b *sink) (o *outputs, logged *bytes.Buffer, stops *int) {
	logged, stops = &bytes.Buffer{}, new(int)
	o = &outputs{
		log: slog.New(slog.NewTextHandler(logged, nil)), stop: func() { *stops++ },
		all: []*output{{destination: a, name: "a"}, {destination: b, name: "b"}},
	}
	return o, logged, stops
}

// twoPackets are a batch of a packet of 5 bytes, kept, and its copy of 7.
func twoPackets() (*capture.Batch, []uint64) {
	return &capture.Batch{Frames: []capture.Frame{{CapLen: 5}, {CapLen: 7}}}, []uint64{0b10}
}

// TestOutputs hands packets to those that are for them, and counts them.
func TestOutputs(t *testing.T) {
	kept, removed := &sink{}, &sink{}
	o, logged, _ := newOutputs(kept, removed)
	o.all[1].invert = true
	for range 2 {
		if err := o.write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	want := []Output{{Name: "a", Packets: 2, Bytes: 10, Files: 2}, {Name: "b", Packets: 2, Bytes: 14, Files: 2}}
	if got := o.list(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !slices.Equal(kept.taken, []uint64{0b10, 0b10}) || !slices.Equal(removed.taken, []uint64{0b01, 0b01}) || logged.Len() > 0 {
		t.Errorf("left out of the kept %b, of the removed %b; logged %s", kept.taken, removed.taken, logged)
	}
	if err := o.commit(); err != nil || fmt.Sprint(kept.events, removed.events) != "[commit] [commit]" {
		t.Errorf("%v, %q, %q", err, kept.events, removed.events)
	}
}

// TestOutputFails goes on without it: what it has written goes at once. The last one that
// fails ends the run.
func TestOutputFails(t *testing.T) {
	a, b := &sink{}, &sink{fail: errFull}
	o, logged, stops := newOutputs(a, b)
	for range 2 {
		if err := o.write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	if got := o.list(); got[0].Packets != 2 || got[0].Failed != "" || got[1].Packets != 0 || got[1].Failed != "full" || !slices.Equal(b.events, []string{"abort"}) {
		t.Errorf("%+v, %q", got, b.events)
	}
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="output failed" output=b error=full`) || *stops != 0 {
		t.Errorf("%d stops, logged %s", *stops, got)
	}
	other := errors.New("gone")
	a.fail = other
	if err := o.write(twoPackets()); !errors.Is(err, ErrOutput) || !errors.Is(err, other) {
		t.Errorf("the last one failed: %v", err)
	}
	if err := o.commit(); !errors.Is(err, ErrOutput) || !errors.Is(err, errFull) || errors.Is(err, other) || slices.Contains(append(a.events, b.events...), "commit") {
		t.Errorf("%v, %q, %q", err, a.events, b.events)
	}
}

// TestOutputRetries tries an output again, and tells at the end that something is missing.
func TestOutputRetries(t *testing.T) {
	a, b := &sink{}, &sink{}
	o, logged, _ := newOutputs(a, b)
	o.all = o.all[1:]
	o.all[0].retry = true
	for _, fail := range []error{nil, errFull, errFull, nil, errFull, nil} {
		b.fail = fail
		if err := o.write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	if got := o.list(); got[0].Packets != 3 || got[0].Failed != "" {
		t.Errorf("%+v", got)
	}
	if got := logged.String(); strings.Count(got, "output failed") != 2 || strings.Count(got, "works again") != 2 {
		t.Errorf("logged %s", got)
	}
	if err := o.commit(); !errors.Is(err, ErrOutput) || err.Error() != "output failed: full" || !slices.Equal(b.events, []string{"commit"}) {
		t.Errorf("%v, %q", err, b.events)
	}
}

// TestOutputsCommit tells what was lost and what could not be completed, and the same
// failure once.
func TestOutputsCommit(t *testing.T) {
	a, b := &sink{}, &sink{}
	o, _, _ := newOutputs(a, b)
	o.all[0].retry, o.all[1].retry = true, true
	a.fail, b.fail = errFull, errFull
	if err := o.write(twoPackets()); err != nil {
		t.Fatal(err)
	}
	a.end, b.end = fmt.Errorf("close: %w", errFull), errors.New("rename")
	if err := o.commit(); err == nil || err.Error() != "output failed: close: full\noutput failed: full\noutput failed: rename" {
		t.Errorf("%v", err)
	}
}

// TestOutputReaderLeft ends the capture, and others get the rest of it.
func TestOutputReaderLeft(t *testing.T) {
	a, b := &sink{fail: fmt.Errorf("write: %w", syscall.EPIPE)}, &sink{}
	o, logged, stops := newOutputs(a, b)
	for range 3 {
		if err := o.write(twoPackets()); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.taken) != 3 || *stops != 1 || logged.Len() > 0 {
		t.Errorf("%d batches, %d stops, logged %s", len(b.taken), *stops, logged)
	}
	if err := o.commit(); !errors.Is(err, syscall.EPIPE) || fmt.Sprint(a.events, b.events) != "[abort] [commit]" {
		t.Errorf("%v, %q, %q", err, a.events, b.events)
	}
}

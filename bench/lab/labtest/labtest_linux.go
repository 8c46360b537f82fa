// SPDX-License-Identifier: Apache-2.0

// Package labtest puts tests into the networks of package lab, and reads what their
// captures deliver. Where lab returns an error, its functions end the test.
package labtest

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// Enter moves the test's thread into a new network namespace. It skips the test on machines
// that have none.
func Enter(t testing.TB) {
	t.Helper()
	if err := lab.Enter(); err != nil {
		t.Skip(err)
	}
}

// Pair makes two interfaces: what goes into one comes out of the other.
func Pair(t testing.TB, left, right string) {
	t.Helper()
	if err := lab.Pair(left, right); err != nil {
		t.Fatal(err)
	}
}

// IP runs ip(8) in the test's namespace.
func IP(t testing.TB, arguments string) {
	t.Helper()
	if err := lab.IP(arguments); err != nil {
		t.Fatal(err)
	}
}

// AwaitLink waits until an interface carries packets.
func AwaitLink(t testing.TB, name string) {
	t.Helper()
	if err := lab.AwaitLink(name); err != nil {
		t.Fatal(err)
	}
}

// Capture is a source that runs until Stop.
type Capture interface {
	capture.Source
	Stop()
}

// Taken is everything that a capture has delivered.
type Taken struct {
	Data   [][]byte
	Frames []capture.Frame
	File   bytes.Buffer // a capture file of all, unless packets lie in place
	Err    error        // what ended the capture, nil for io.EOF
}

// Take reads until n packets have come, or to the end if n is negative. It calls each, if
// not nil, with every batch.
func Take(t testing.TB, src Capture, n int, each func(b *capture.Batch)) *Taken {
	t.Helper()
	got := &Taken{}
	w := pcapfile.NewWriter(&got.File, pcapfile.WriterOptions{})
	watch := time.AfterFunc(wait.Timeout, src.Stop)
	defer watch.Stop()
	var b capture.Batch
	if lender, ok := src.(capture.Lender); ok {
		defer lender.GiveBack(&b)
	}
	for n < 0 || len(got.Data) < n {
		if got.Err = src.Next(&b); got.Err != nil {
			break
		}
		got.add(t, w, &b)
		if each != nil {
			each(&b)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if errors.Is(got.Err, io.EOF) {
		got.Err = nil
	}
	return got
}

// add adds a batch.
func (got *Taken) add(t testing.TB, w capture.Writer, b *capture.Batch) {
	t.Helper()
	if inPlace := len(b.Frames) > 0 && b.Frames[0].RecordLen == 0; !inPlace {
		if err := w.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range b.Frames {
		got.Data = append(got.Data, bytes.Clone(b.Data(i)))
		got.Frames = append(got.Frames, b.Frames[i])
	}
}

// Rest stops a capture when all sent packets have come, and takes the packets that are
// left.
func Rest(t testing.TB, src Capture, each func(b *capture.Batch)) *Taken {
	t.Helper()
	lab.Settle()
	src.Stop()
	got := Take(t, src, -1, each)
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	return got
}

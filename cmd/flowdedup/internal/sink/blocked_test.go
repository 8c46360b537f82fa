// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// stuck is a destination whose calls block until the test ends.
type stuck struct {
	noted
	free chan struct{}
}

func (d *stuck) Write(*capture.Batch, []uint64) error {
	<-d.free
	return nil
}

// TestBlocked ends a run while an output blocks. The error names that output, and the
// other output is complete.
func TestBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		blocks, works := &stuck{free: make(chan struct{})}, &noted{}
		defer close(blocks.free)
		s := New(ctx, Config{Log: slog.New(slog.DiscardHandler)})
		s.outputs = []*output{
			{destination: blocks, name: "pipe", calls: newCalls("pipe")},
			{destination: works, name: "file", calls: newCalls("file")},
		}
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := s.Write(twoPackets()); !errors.Is(err, ErrBlocked) || err.Error() != "pipe: "+ErrBlocked.Error() {
			t.Errorf("Write: %v", err)
		}
		if err := s.Keep(); !errors.Is(err, ErrBlocked) || len(works.events) != 1 || works.out != 1 {
			t.Errorf("Keep: %v, %q", err, works.events)
		}
	})
}

// TestPipeWithoutReader waits for a reader until the run is to end, and logs that. A pipe with a
// reader gets no such line.
func TestPipeWithoutReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", name).Run(); err != nil {
		t.Skip(err)
	}
	logged := &bytes.Buffer{}
	logging := LogNoReader(context.Background(), slog.New(slog.NewTextHandler(logged, nil)))
	ctx, cancel := context.WithCancel(logging)
	conf := Config{Kept: name, Live: true}
	s := New(ctx, conf)
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := s.OpenFiles(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenFiles: %v", err)
	}
	if err := s.Discard(); err != nil {
		t.Error(err)
	}
	const line = "waits for a reader of the pipe"
	if text := logged.String(); strings.Count(text, line) != 1 || !strings.Contains(text, name) {
		t.Errorf("without a reader: %q", text)
	}
	reader, err := os.OpenFile(name, os.O_RDWR, 0) // opens at once
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	s = New(logging, conf)
	if err := s.OpenFiles(logging); err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(); err != nil || strings.Count(logged.String(), line) != 1 {
		t.Errorf("with a reader: %v, %q", err, logged)
	}
}

// TestInterruptibleWriter checks that the writer copies its argument, and gives up a
// blocked write.
func TestInterruptibleWriter(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	p := NewInterruptibleWriter(ctx, "out", w)
	defer p.Close()
	if n, err := p.Write([]byte("abc")); n != 3 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	got := make([]byte, 3)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	for range 2 {
		if _, err := p.Write(make([]byte, 1<<20)); !errors.Is(err, ErrBlocked) {
			t.Errorf("%v", err)
		}
	}
}

// standing is a destination on a disk that stands still until it is released.
type standing struct {
	noted
	reached, release chan struct{}
}

func (d *standing) Write(*capture.Batch, []uint64) error {
	close(d.reached)
	<-d.release
	return nil
}

// TestHang ends a set while a caller of Write hangs: the run names that output and completes
// the other, and nothing more is written when the disk works again.
func TestHang(t *testing.T) { synctest.Test(t, testHang) }

func testHang(t *testing.T) {
	stands, works := &standing{reached: make(chan struct{}), release: make(chan struct{})}, &noted{}
	ctx, cancel := context.WithCancel(t.Context())
	s := New(ctx, Config{})
	s.outputs = []*output{
		{destination: stands, name: "stands", calls: newCalls("stands"), direct: true},
		{destination: works, name: "works", calls: newCalls("works"), direct: true},
	}
	wrote := make(chan error)
	go func() { wrote <- s.Write(twoPackets()) }()
	<-stands.reached
	cancel()
	<-s.GiveUp()
	err := s.Keep()
	if !errors.Is(err, ErrBlocked) || err.Error() != "stands: "+ErrBlocked.Error() {
		t.Errorf("%v", err)
	}
	if fmt.Sprint(stands.events, works.events) != "[] [keep]" {
		t.Errorf("%q, %q", stands.events, works.events)
	}
	close(stands.release)
	<-wrote
	if works.out != 0 || len(works.events) != 1 {
		t.Errorf("%d packets after the end, %q", works.out, works.events)
	}
}

// slow is a destination that takes long to be complete.
type slow struct {
	noted
	takes time.Duration
}

func (d *slow) commit() error {
	time.Sleep(d.takes)
	return d.noted.commit()
}

// TestSlowDisk ends a set by a signal. A file on a busy disk gets seconds to be complete, as
// nothing of it is lost. Others do not.
func TestSlowDisk(t *testing.T) {
	for _, c := range []struct {
		takes  time.Duration
		direct bool
		want   error
	}{
		{time.Second, true, nil},
		{9 * time.Second, true, nil},
		{time.Minute, true, ErrBlocked},
		{time.Second, false, ErrBlocked},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := New(ctx, Config{Live: true})
			s.outputs = []*output{{destination: &slow{takes: c.takes}, name: "out", calls: newCalls("out"), direct: c.direct}}
			cancel()
			<-s.GiveUp()
			if err := s.Commit(); !errors.Is(err, c.want) {
				t.Errorf("%v, direct %t: %v", c.takes, c.direct, err)
			}
			time.Sleep(c.takes) // so that the call ends
		})
	}
}

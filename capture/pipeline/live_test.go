// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"io"
	"sync/atomic"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// arriving is a live source of numbered batches.
type arriving struct {
	numbered
	behind   atomic.Bool
	underWay atomic.Int32    // batches read, and not yet written
	most     atomic.Int32    // of them, when a further batch is read
	read     []chan struct{} // closed when the batch of the number has been read
}

func newArriving(n int) *arriving {
	s := &arriving{numbered: numbered{n: n, err: io.EOF}}
	for range n + 1 {
		s.read = append(s.read, make(chan struct{}))
	}
	return s
}

func (s *arriving) Behind() bool { return s.behind.Load() }

func (s *arriving) Next(b *capture.Batch) error {
	s.most.Store(max(s.most.Load(), s.underWay.Load()))
	number := s.next
	err := s.numbered.Next(b)
	if err == nil {
		s.underWay.Add(1)
	}
	close(s.read[number])
	return err
}

// follower is a task that waits in one stage until the batch after its own was read.
type follower struct {
	from  *arriving
	stage string // prepare, judge, write or ""
}

func (f *follower) wait(stage string, b *capture.Batch) {
	if stage == f.stage {
		<-f.from.read[b.Frames[0].CapLen+1]
	}
}

func (f *follower) Prepare(b *capture.Batch) {
	f.wait("prepare", b)
	switch f.stage {
	case "judge":
		f.from.behind.Store(true)
	case "":
		yield(50) // others read, if they do
	}
}

func (f *follower) Judge(b *capture.Batch) error {
	if b.Frames[0].CapLen == 0 { // later batches may hold all slots
		f.wait("judge", b)
	}
	return nil
}

func (f *follower) Write(b *capture.Batch) error {
	f.wait("write", b)
	f.from.underWay.Add(-1)
	return nil
}

// patient is a follower whose Write may hang.
type patient struct{ follower }

func (*patient) GiveUp() <-chan struct{} { return nil }

// TestLiveSource has one worker do everything while the source is not behind. Others read
// while it is, also if that begins while a batch is prepared, and while a Write may
// hang. Otherwise such a test does not end.
func TestLiveSource(t *testing.T) {
	const n = 50
	for _, test := range []struct {
		name   string
		behind bool
		stage  string // where the batch after is waited for
		hangs  bool
		alone  bool
	}{
		{"not behind", false, "", false, true},
		{"behind", true, "prepare", false, false},
		{"packets come", false, "judge", false, false},
		{"a write may hang", false, "write", true, false},
	} {
		for _, workers := range []int{2, 3, 8} {
			src := newArriving(n)
			src.behind.Store(test.behind)
			err := New(src).Run(context.Background(), workers, func() Task {
				f := follower{src, test.stage}
				if test.hangs {
					return &patient{f}
				}
				return &f
			})
			if most := src.most.Load(); err != nil || src.next != n || src.underWay.Load() != 0 || (most == 0) != test.alone {
				t.Errorf("%s, %d workers: %v, read %d, %d under way at the end, %d when one was read", test.name, workers, err, src.next, src.underWay.Load(), most)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/flowdedup/flowdedup/capture"
)

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

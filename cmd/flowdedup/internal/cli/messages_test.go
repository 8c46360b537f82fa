// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/schollz/progressbar/v3"
)

// TestWarningsBesideProgress warns on one goroutine while another draws the progress
// line, for the race detector.
func TestWarningsBesideProgress(t *testing.T) {
	e := &Env{Stderr: io.Discard}
	p := &Progress{mu: &e.mu, bar: progressbar.NewOptions64(100, progressbar.OptionSetWriter(io.Discard))}
	e.clearProgress = p.clear
	var wg sync.WaitGroup
	wg.Go(func() {
		for range maxWarnings + 1 {
			e.Warn(errors.New("damage"))
		}
	})
	for i := range int64(100) {
		p.next = time.Time{}
		p.Update(i, 100, uint64(i))
	}
	wg.Wait()
	p.Close()
	e.Report(errors.New("after the line is gone"))
}

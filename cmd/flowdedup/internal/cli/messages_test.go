// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEstimateSettles draws lines, and expects the time that is left only on later ones.
func TestEstimateSettles(t *testing.T) {
	var out strings.Builder
	e := &Env{}
	p := &Progress{mu: &e.mu, bar: newBar(&out, 0)}
	for i := 1; i < 2*settled; i++ {
		p.next = time.Time{}
		out.Reset()
		p.Update(int64(i), 2*settled, 0)
		if estimates := estimate.MatchString(out.String()); out.Len() == 0 || estimates != (i >= settled) {
			t.Fatalf("drawing %d: %q", i, &out)
		}
	}
}

// estimate matches the time that has passed and the time that is left.
var estimate = regexp.MustCompile(`\[\w+:\w+\]`)

// TestWarningsBesideProgress warns on one goroutine while another draws the progress
// line, for the race detector.
func TestWarningsBesideProgress(t *testing.T) {
	e := &Env{Stderr: io.Discard}
	p := &Progress{mu: &e.mu, bar: newBar(io.Discard, 0)}
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

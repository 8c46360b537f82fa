// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// ended is a test that records its end.
type ended struct {
	testing.TB
	fatal bool
}

func (e *ended) Helper() {}

func (e *ended) Fatal(...any) {
	e.fatal = true
	runtime.Goexit()
}

// TestUntil waits for events at once, later, and never.
func TestUntil(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		want  time.Duration // how long it waits, about
		fatal bool
	}{
		{0, 0, false}, {time.Second, time.Second, false}, {Timeout - time.Second, Timeout - time.Second, false}, {time.Hour, Timeout, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, over, e := time.Now(), make(chan struct{}), new(ended)
			go func() {
				defer close(over)
				Until(e, "a time", func() bool { return time.Since(begin) >= c.after })
			}()
			<-over
			if took := time.Since(begin); e.fatal != c.fatal || took < c.want || took > c.want+2*time.Millisecond {
				t.Errorf("after %v: waited %v, failed %v", c.after, took, e.fatal)
			}
		})
	}
}

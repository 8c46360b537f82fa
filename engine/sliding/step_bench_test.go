// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

// BenchmarkStep has rows take elements of one step, which are new, and then again, when
// they are known. It reports the least CPU time of an element.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1 << 14, 1 << 20} {
		b.Run(fmt.Sprintf("distinct=%d", n), func(b *testing.B) { measureStep(b, check.Digests(1, n)) })
	}
}

func measureStep(b *testing.B, digests []digest.Digest) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const batch = 4096
	seen := make([]uint64, batch/64)
	fresh, known := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range b.N {
		s := mustSliding(b, Config{Window: time.Hour, Step: time.Hour / 120})
		pass := func() time.Duration {
			begin := check.ThreadTime()
			for at := 0; at < len(digests); at += batch {
				s.TestAndSetStep(seen, digests[at:at+batch], slidingBegin)
			}
			return check.ThreadTime() - begin
		}
		fresh = min(fresh, pass())
		for range 3 {
			known = min(known, pass())
		}
		s.Close()
	}
	b.ReportMetric(float64(known)/float64(len(digests)), "known-cpu-ns")
	b.ReportMetric(float64(fresh)/float64(len(digests)), "new-cpu-ns")
	b.ReportMetric(0, "ns/op") // it would count the closing of rows, too
}

package sliding

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"testing"
	"time"
)

// BenchmarkSliding measures elements that return in no order within the window, a million a
// second of packet time.
func BenchmarkSliding(b *testing.B) {
	for _, n := range []int{3000, 50_000, 800_000, 4_000_000} {
		b.Run(fmt.Sprintf("distinct=%d", n), func(b *testing.B) {
			s := mustSliding(b, Config{Window: time.Hour})
			digests, times := check.Digests(1, n), steady(n, 0)
			s.TestAndSet(nil, digests, times)
			const batch = 1000
			now := times[0]
			at := 0
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				if at += batch; at+batch > n {
					at = 0
				}
				for k := range times[:batch] {
					now += 1000
					times[k] = now
				}
				s.TestAndSet(nil, digests[at:at+batch], times[:batch])
			}
		})
	}
}

// BenchmarkCount measures a count over the window.
func BenchmarkCount(b *testing.B) {
	s := mustSliding(b, Config{Window: time.Hour})
	s.TestAndSet(nil, make([]digest.Digest, 1), steady(1, 0))
	for range b.N {
		s.Count(slidingBegin + 1)
	}
}

package line

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// Scratch: simulate misses, bits.
func TestSimScratch(t *testing.T) {
	if os.Getenv("SIM") == "" {
		t.Skip()
	}
	const live = 100_000
	const W = live // one kept element a tick
	rng := rand.New(rand.NewPCG(1, 2))
	for _, frac := range []int{12} {
		for _, slackDiv := range []int64{0, 8} {
			for _, load := range []float64{2.5, 2.75, 3} {
				n := int(live / load)
				rows := TimedRows{make([]layout.Line, n), make([]layout.Line, n/frac)}
				p := TimedParams{FPBits: 40, TickBits: 45, Window: W, Now: layout.NoTick}
				if slackDiv > 0 {
					p.Slack = W / slackDiv
				}
				var c TimedCounts
				const batch = 1024
				d, ticks, seen := make([]digest.Digest, 2*batch), make([]int64, 2*batch), make([]uint64, 2*batch/64)
				hist := make([]digest.Digest, 2*W)
				kept, misses, repeats, asks := 0, 0, 0, uint64(0)
				total := 32 * W
				var warm TimedCounts
				for kept < total {
					if kept >= 2*W && warm.Inserted == 0 {
						warm = c
					}
					m := 0
					isRep := [2 * batch]bool{}
					for i := 0; i < batch; i++ {
						hist[kept%len(hist)] = digest.Digest{rng.Uint64(), rng.Uint64()}
						d[m], ticks[m] = hist[kept%len(hist)], int64(kept)
						m++
						if kept > 2*W {
							back := rng.IntN(W)
							d[m], ticks[m] = hist[(kept-back)%len(hist)], int64(kept)
							isRep[m] = true
							m++
						}
						kept++
					}
					p.Now = int64(kept - batch)
					TestAndSetTimed(rows, seen, d[:m], ticks[:m], nil, &p, &c)
					for i := range m {
						if isRep[i] {
							repeats++
							if seen[i/64]>>(i%64)&1 == 0 {
								misses++
							}
						}
					}
				}
				asks = c.Asked - warm.Asked
				ins := float64(30 * W)
				bytes := 64 * (float64(n) + float64(n/frac)) / live
				fmt.Printf("1/%d slack W/%d load %.2f: bytes %.1f miss %.2g evicted %.2g spilled %.4f asked/lookup %.4f\n", frac, slackDiv, load, bytes,
					float64(misses)/float64(repeats), float64(c.EvictedLive-warm.EvictedLive)/ins, float64(c.Spilled-warm.Spilled)/ins, float64(asks)/(2*ins))
			}
		}
	}
}

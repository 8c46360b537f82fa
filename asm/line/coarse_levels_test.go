// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

func TestCoarseLevels(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		for i, p := range coarseShapes {
			for kind := range len(digestBatches) + 1 {
				if testing.Short() && (i+kind)%3 != 0 {
					continue
				}
				test := coarseLevels(t, rng, p, mostElements, func(n int) *timedStream {
					s := coarseStream(rng, n, p)
					if kind < len(digestBatches) {
						fillDigests(rng, s.digests, digestBatches[kind].digest)
					}
					return s
				})
				test.lines, test.spare = 13, kind%3
				test.run(t)
			}
		}
	})
}

// coarseLevels is a test of batches that stream draws, of up to most elements.
func coarseLevels(t *testing.T, rng *rand.Rand, p CoarseParams, most int, stream func(n int) *timedStream) *levelTest {
	var s *timedStream
	front := rng.IntN(2) == 0
	times := guardedPart[int64](t, most, front)
	return &levelTest{
		front: front, rng: rng,
		draw: func(digests []digest.Digest) {
			s = stream(len(digests))
			copy(digests, s.digests)
		},
		call: func(n int) levelCall {
			ticks := times(n)
			copy(ticks, s.ticks)
			return func(lines, spare []layout.Line, seen []uint64, digests []digest.Digest) any {
				var c CoarseCounts
				TestAndSetCoarse(CoarseRows{lines, spare}, seen, digests, ticks, p, &c)
				return c
			}
		},
	}
}

// TestCoarseLevelsAnyMemory starts from lines that no call has made, such as lines of a
// snapshot: cells with equal fingerprints, gaps, and any age.
func TestCoarseLevelsAnyMemory(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(63, 64))
		for _, p := range coarseShapes {
			var lines []layout.Line
			test := coarseLevels(t, rng, p, 2000, func(n int) *timedStream {
				s := coarseStream(rng, n, p)
				for i := range s.digests {
					d := rng.Uint64()
					at, _ := bits.Mul64(d, uint64(len(lines)))
					s.digests[i] = digest.Digest{lines[at][rng.IntN(8)] << (rng.IntN(2) * 32), d}
					s.ticks[i] = int64(lines[at][7]>>32) + rng.Int64N(600) - 300
				}
				return s
			})
			test.lines, test.spare, test.lengths = 200, 20, []int{2000}
			test.start = func(rows, spare []layout.Line) {
				lines = rows
				fillLines(lines, 8)
				fillLines(spare, 8)
				for i := range lines {
					for w := range lines[i] {
						if rng.IntN(8) == 0 {
							lines[i][w] = lines[i][0] &^ (255 << (rng.IntN(2) * 32))
						}
					}
				}
			}
			test.run(t)
		}
	})
}

// TestCoarseGolden: verdicts, memory and counts of earlier versions and of all CPUs are the
// same, as filters are kept in files and moved.
func TestCoarseGolden(t *testing.T) {
	want := []string{
		"5ecb21565bb17a94", "2e883582d94948b4", "606481d368157ebe", "b3172a58f14b9fd9", "2494551b85325901",
		"2494551b85325901", "973307af1f8ff063", "a80e0d56e5b7a927", "dac3a95c897f4fe5", "b5786d09a39cdbd4",
		"318d02eb9265e694", "76a806eeabc0f123", "761448ba4af50540", "4e555e8473b3d2f5",
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		digests := goldenStream()
		for i, p := range coarseShapes {
			ticks, _ := goldenTimes(len(digests), &TimedParams{TickBits: 40, Window: int64(p.Window)})
			rows, seen, c := coarseRows(80, 5), make([]uint64, (len(digests)+63)/64), CoarseCounts{}
			TestAndSetCoarse(rows, seen, digests, ticks, p, &c)
			if got := goldenSum(t, seen, slices.Concat(rows.Lines, rows.Spare), c); got != want[i] {
				t.Errorf("%+v: %q, want %q", p, got, want[i])
			}
		}
	})
}

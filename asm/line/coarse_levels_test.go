// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestCoarseLevels compares verdicts, counts and memory for every batch length from 0 to
// 300, one after the other on the same lines, with guard pages around all buffers.
func TestCoarseLevels(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		for i, p := range coarseShapes {
			for kind := range len(digestBatches) + 1 {
				if testing.Short() && (i+kind)%3 != 0 {
					continue
				}
				compareCoarse(t, rng, p, (i+kind)%2 == 0, kind)
			}
		}
	})
}

func compareCoarse(t *testing.T, rng *rand.Rand, p CoarseParams, front bool, kind int) {
	t.Helper()
	const lines, most = 13, 300
	filter, plain := CoarseRows{
		kerneltest.Guarded[[8]uint64](t, lines, front), kerneltest.Guarded[[8]uint64](t, kind%3, front),
	}, coarseRows(lines, kind%3)
	memory, times := kerneltest.Guarded[digest.Digest](t, most, front), kerneltest.Guarded[int64](t, most, front)
	words := kerneltest.Guarded[uint64](t, (most+63)/64, front)
	var counts, want CoarseCounts
	for n := 0; n <= most; n += batchStep(rng) {
		s := coarseStream(rng, n, p)
		if kind < len(digestBatches) {
			fillDigests(rng, s.digests, digestBatches[kind].digest)
		}
		copy(kerneltest.Part(memory, n, front), s.digests)
		copy(kerneltest.Part(times, n, front), s.ticks)
		seen, wanted := kerneltest.Part(words, bitWords(n), front), make([]uint64, (n+63)/64)
		TestAndSetCoarse(filter, seen, kerneltest.Part(memory, n, front), kerneltest.Part(times, n, front), p, &counts)
		kerneltest.AtLevel(cpu.Generic, func() { TestAndSetCoarse(plain, wanted, s.digests, s.ticks, p, &want) })
		if !slices.Equal(seen, wanted) || counts != want {
			t.Fatalf("%+v: %d elements: verdicts or counts %+v and %+v differ", p, n, counts, want)
		}
		if !filter.equal(plain) {
			t.Fatalf("%+v: %d elements: memory differs", p, n)
		}
	}
}

// TestCoarseLevelsAnyMemory starts from lines that no call has made, such as lines of a
// snapshot: cells with equal fingerprints, gaps, and any age.
func TestCoarseLevelsAnyMemory(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(63, 64))
		for _, p := range coarseShapes {
			rows := coarseRows(200, 20)
			lines := rows.Lines
			fillLines(lines, 8)
			fillLines(rows.Spare, 8)
			for i := range lines {
				for w := range lines[i] {
					if rng.IntN(8) == 0 {
						lines[i][w] = lines[i][0] &^ (255 << (rng.IntN(2) * 32))
					}
				}
			}
			plain := rows.clone()
			s := coarseStream(rng, 2000, p)
			for i := range s.digests {
				d := rng.Uint64()
				at, _ := bits.Mul64(d, uint64(len(lines)))
				s.digests[i] = digest.Digest{lines[at][rng.IntN(8)] << (rng.IntN(2) * 32), d}
				s.ticks[i] = int64(lines[at][7]>>32) + rng.Int64N(600) - 300
			}
			var counts, want CoarseCounts
			seen, wanted := make([]uint64, 32), make([]uint64, 32)
			TestAndSetCoarse(rows, seen, s.digests, s.ticks, p, &counts)
			kerneltest.AtLevel(cpu.Generic, func() { TestAndSetCoarse(plain, wanted, s.digests, s.ticks, p, &want) })
			if !slices.Equal(seen, wanted) || counts != want || !rows.equal(plain) {
				t.Fatalf("%+v: verdicts, memory or counts %+v and %+v differ", p, counts, want)
			}
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

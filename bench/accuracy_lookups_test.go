// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strconv"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/engine/window"
)

// fingerprint is the width of the fingerprints of window.Timed, in bits.
const fingerprint = 40

// TestTimedLookups looks up elements in window.Timed that are all different, and counts those
// that it takes for copies. Element i is the AES-128 encryption of i, as are digests of keys: a
// permutation, so no two elements are equal, and lines and fingerprints are independent. Cut
// fingerprints have zeros in their low bits. So they meet as often as narrower cells, in the
// kernels and rows of users.
//
// In a full filter an element meets the most cells of its window: six in its line and six in a
// spare line. So a full filter shows the promised rate itself. A filter that may grow has at most
// 2.4 elements of a window in a line, and fewer false copies.
//
// FLOWDEDUP_LOOKUPS is the number of look-ups with whole fingerprints. Cut by 8 and 16 bits, a
// tenth of them do.
func TestTimedLookups(t *testing.T) {
	n, whole := 1e8, os.Getenv("FLOWDEDUP_LOOKUPS")
	if whole != "" {
		var err error
		if n, err = strconv.ParseFloat(whole, 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, cut := range []int{16, 8, 0} {
		for _, l := range []*lookups{{cells: 12, interval: 2}, {cells: 2.4, interval: 55}} {
			t.Run(fmt.Sprintf("bits=%d/cells=%v", fingerprint-cut, l.cells), func(t *testing.T) {
				if whole == "" && cut < 16 {
					t.Skip("FLOWDEDUP_LOOKUPS is not set")
				}
				if cut > 0 {
					l.run(t, n/10, cut)
				} else {
					l.run(t, n, cut)
				}
				expected := math.Ldexp(l.cells, cut-fingerprint) * float64(l.done)
				t.Logf("%s; %.4g expected", l, expected)
				if low, high := poissonInterval(l.copies, 1e-6); expected < low || expected > high {
					t.Errorf("%d copies, expected %.1f", l.copies, expected)
				}
			})
		}
	}
}

// lookups are counts of a filter of the usual size, which does not grow.
type lookups struct {
	cells    float64 // that an element meets, of its window
	interval int64   // nanoseconds from element to element
	done     int
	copies   int
}

func (l *lookups) run(t *testing.T, n float64, cut int) {
	f, err := window.NewTimed(window.TimedConfig{Window: window.Window{Duration: window.Default}, Memory: 512 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const batch = 1024
	var (
		aes      = digest.NewAES([16]byte{1})
		counters [batch][16]byte
		elements [batch]digest.Digest
		times    [batch]int64
		seen     [batch / 64]uint64
		keep     = ^uint64(0) << (64 - fingerprint + cut)
	)
	for float64(l.done) < n {
		for i := range counters {
			binary.LittleEndian.PutUint64(counters[i][:], uint64(l.done+i))
			times[i] = 1_700_000_000_000_000_000 + int64(l.done+i)*l.interval
		}
		aes.Sum16(elements[:], counters[:])
		if cut > 0 {
			for i := range elements {
				elements[i][0] &= keep
			}
		}
		f.TestAndSet(seen[:], elements[:], times[:], nil)
		for _, word := range seen {
			l.copies += bits.OnesCount64(word)
		}
		if l.done += batch; l.done%(1<<30) == 0 {
			t.Log(l)
		}
	}
}

// String returns the share of false copies with its 95 % interval.
func (l *lookups) String() string {
	low, high := poissonInterval(l.copies, 0.05)
	n := float64(l.done)
	return fmt.Sprintf("%.4g look-ups, %d false copies: %.3g (%.3g to %.3g)", n, l.copies, float64(l.copies)/n, low/n, high/n)
}

// poissonInterval returns the means for which a count of at least, or at most k has a
// probability of alpha/2: the exact interval (Garwood, "Fiducial Limits for the Poisson
// Distribution", Biometrika 28, 1936).
func poissonInterval(k int, alpha float64) (low, high float64) {
	mean := func(k int, p float64) float64 { // PoissonTail(k, mean) = p
		low, high := 0.0, float64(k)+20*math.Sqrt(float64(k))+40
		for range 60 {
			if m := (low + high) / 2; theory.PoissonTail(k, m) < p {
				low = m
			} else {
				high = m
			}
		}
		return low
	}
	if k > 0 {
		low = mean(k, alpha/2)
	}
	return low, mean(k+1, 1-alpha/2)
}

// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"math"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/permute"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
)

// ipv4Key permutes the addresses of counters that can be restored.
var ipv4Key = check.SavedSecret.AESKey(engine.UsePermutation)

func ofIPv4(memory int) (*IPv4Rows, error)               { return NewIPv4Rows(ipv4Key, memory) }
func newIPv4Rows(t testing.TB, memory int) *IPv4Rows     { return check.New(t, ofIPv4, memory) }
func newDigestRows(t testing.TB, memory int) *DigestRows { return check.New(t, NewDigestRows, memory) }
func newScalableBloom(t testing.TB, c ScalableBloomConfig) *ScalableBloom {
	return check.New(t, NewScalableBloom, c)
}

// aimed returns addresses whose images are 0, 1, 2, ...: all of one line.
func aimed(n int) []uint32 {
	addrs := make([]uint32, n)
	for i := range addrs {
		addrs[i] = uint32(i)
	}
	permute.NewBijection(ipv4Key).Invert(addrs, addrs)
	return addrs
}

// oneLine returns digests of one line, however many lines there are.
func oneLine(n int) []digest.Digest {
	digests := make([]digest.Digest, n)
	for i := range digests {
		digests[i] = digest.Digest{uint64(i), uint64(i) << 1}
	}
	return digests
}

// address is one of 30,000.
func address(random uint64) uint32 { return uint32(random%30_000) * 0x01000193 }

func digestOf(random uint64) digest.Digest { return digest.Digest{random, ^random} }

func addresses() map[string][]uint32 {
	sequential := make([]uint32, 50_000)
	for i := range sequential {
		sequential[i] = 10<<24 + uint32(i)
	}
	return map[string][]uint32{
		"sequential":  sequential,
		"one line":    append(aimed(5000), aimed(6000)...),
		"extremes":    {0, 1<<32 - 1, 0, 1<<32 - 1, 1 << 31, 1},
		"growing dup": slices.Concat(sequential[:20_000], sequential[:20_000]),
	}
}

func digests() map[string][]digest.Digest {
	return map[string][]digest.Digest{
		"one line": append(oneLine(5000)[2:], oneLine(6000)[2:]...), // 0 and 1 are the same
		"extremes": {{0, 1}, {^uint64(0), 1}, {0, 1}, {^uint64(0), 1}, {1 << 63, 0}},
	}
}

func savedIPv4Kind() check.SavedCounterKind[uint32, *IPv4Rows] {
	return check.SavedCounterKind[uint32, *IPv4Rows]{
		CounterKind: check.CounterKind[uint32, *IPv4Rows]{New: ofIPv4, Key: func(random uint64) uint32 { return uint32(random >> 16) }, Streams: addresses()},
		Restore:     RestoreIPv4Rows, Hard: aimed(3000), Copied: map[string]int{"rows": math.MaxInt},
	}
}

func savedDigestKind() check.SavedCounterKind[digest.Digest, *DigestRows] {
	return check.SavedCounterKind[digest.Digest, *DigestRows]{
		CounterKind: check.CounterKind[digest.Digest, *DigestRows]{New: NewDigestRows, Key: digestOf, Streams: digests()},
		Restore:     RestoreDigestRows, Hard: oneLine(3000)[2:], Copied: map[string]int{"rows": math.MaxInt, "thinned": 1 << 20},
	}
}

func TestIPv4Rows(t *testing.T)   { savedIPv4Kind().Test(t) }
func TestDigestRows(t *testing.T) { savedDigestKind().Test(t) }

func FuzzRestoreIPv4Rows(f *testing.F)   { savedIPv4Kind().Fuzz(f) }
func FuzzRestoreDigestRows(f *testing.F) { savedDigestKind().Fuzz(f) }

// TestScalableBloom: at the default rate nothing is confused in streams that fit a test.
func TestScalableBloom(t *testing.T) {
	check.CounterKind[digest.Digest, *ScalableBloom]{New: func(int) (*ScalableBloom, error) { return NewScalableBloom(ScalableBloomConfig{}) }, Key: digestOf}.Test(t)
}

func TestIPv4Map(t *testing.T) {
	check.CounterKind[uint32, *IPv4Map]{New: func(int) (*IPv4Map, error) { return NewIPv4Map(), nil }, Key: address, Streams: addresses()}.Test(t)
}

func TestDigestMap(t *testing.T) {
	check.CounterKind[digest.Digest, *DigestMap]{New: func(int) (*DigestMap, error) { return NewDigestMap(), nil }, Key: digestOf}.Test(t)
}

// spilledWords returns how many words found their line full.
func spilledWords[W rowtable.Word](rows *rowtable.Rows[W]) int {
	s, _ := rows.State()
	return int(s.Overflow)
}

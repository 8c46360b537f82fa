package asm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"
)

// goldenStream is the same stream of elements and ticks on every CPU: half of the
// elements come again.
func goldenStream() (digests []Digest, positions, ticks []uint64) {
	var state, tick uint64
	for i := range uint64(5000) {
		d := Digest{splitMix64(&state), splitMix64(&state)}
		if r := splitMix64(&state); i > 0 && r&1 == 0 {
			d = digests[r>>1%i]
		}
		tick += splitMix64(&state) >> 62
		digests, positions, ticks = append(digests, d), append(positions, i), append(ticks, tick)
	}
	return digests, positions, ticks
}

// goldenSum returns the start of a hash of words.
func goldenSum(t *testing.T, words ...any) string {
	t.Helper()
	h := sha256.New()
	for _, w := range words {
		if err := binary.Write(h, binary.LittleEndian, w); err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Verdicts, memory and counts of earlier versions and of all CPUs are the same: filters
// are kept in files and moved.
func TestCellsGolden(t *testing.T) {
	want := []string{
		"cabd1f9116c9b297", "b485515efb6099b0", "ff356e8c8834a99b", "3d6082e2bec6f9d1",
		"f169e31b09a42209", "7e0e858280b9e68c", "0e42376b1aa4c32b", "3408109b26966e96",
	}
	forEveryLevel(t, func(t *testing.T) {
		digests, positions, _ := goldenStream()
		for i, p := range cellShapes {
			lines, seen, c := make([][8]uint64, 20), make([]uint64, (len(digests)+63)/64), CellCounts{}
			TestAndSetCells(lines, seen, digests, positions, cellRule(t, p), &c)
			if got := goldenSum(t, lines, seen, c); got != want[i] {
				t.Errorf("%+v: %q, want %q", p, got, want[i])
			}
		}
	})
}

func TestTimersGolden(t *testing.T) {
	want := []string{
		"641282f111b3dd62", "cc263b78d05cd2a7", "4908127ba044fc22", "76f75a96a4a26cf6",
		"eb3008d5ab239492", "0e4434463587b6fe", "e0cd3482875ff525", "23d55d98c22acf76",
		"05b098b74c19861b",
	}
	forEveryLevel(t, func(t *testing.T) {
		digests, _, ticks := goldenStream()
		for i, p := range timerShapes {
			lines, seen, c := make([][8]uint64, 20), make([]uint64, (len(digests)+63)/64), TimerCounts{}
			rule := timerRule(t, p)
			TestAndSetTimers(lines, seen, digests, ticks, rule, &c)
			SweepTimers(lines, ticks[len(ticks)-1], rule, &c)
			if got := goldenSum(t, lines, seen, c); got != want[i] {
				t.Errorf("%+v: %q, want %q", p, got, want[i])
			}
		}
	})
}

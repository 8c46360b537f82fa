// SPDX-License-Identifier: Apache-2.0

// Package kerneltest has the common code of kernel tests: memory between guard pages,
// levels, golden files and clocks.
package kerneltest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/layout"
)

// Guarded returns n values in memory that ends at a page without access or, with front,
// that begins after such a page.
func Guarded[T any](t testing.TB, n int, front bool) []T {
	var zero T
	b := guarded(t, n*int(unsafe.Sizeof(zero)), front)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Part returns n of all values that Guarded returned, at the end with the guard page.
func Part[T any](all []T, n int, front bool) []T {
	if front {
		return all[:n]
	}
	return all[len(all)-n:]
}

// AtLevel calls f with this level in use.
func AtLevel(level cpu.Level, f func()) {
	defer func(before cpu.Level) { cpu.Best = before }(cpu.Best)
	cpu.Best = level
	f()
}

// ForLevels runs a test with each level that the CPU has except the plain level, which
// kernels are compared with.
func ForLevels(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	runLevels(t, cpu.Levels()[1:], test)
}

// ForEveryLevel runs a test with each level, the plain level too.
func ForEveryLevel(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	runLevels(t, cpu.Levels(), test)
}

func runLevels(t *testing.T, levels []cpu.Level, test func(t *testing.T)) {
	t.Helper()
	for _, level := range levels {
		t.Run("level="+level.String(), func(t *testing.T) {
			AtLevel(level, func() { test(t) })
		})
	}
}

// BenchLevels runs a benchmark with each level.
func BenchLevels(b *testing.B, run func(b *testing.B)) {
	for _, level := range cpu.Levels() {
		b.Run("level="+level.String(), func(b *testing.B) {
			AtLevel(level, func() { run(b) })
		})
	}
}

// Lines returns lines of zeros, kib KiB in all, on huge pages where the system grants them.
func Lines(b *testing.B, kib int) []layout.Line {
	arena, err := layout.NewArena(kib << 10 / layout.LineSize)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { arena.Close() })
	return arena.Lines()
}

// Measure times call, which handles this number of elements, and calls prepare before
// each without timing it. It reports the median, which is robust against short
// disturbances by other programs.
func Measure(b *testing.B, elements int, prepare, call func()) {
	var times []time.Duration
	for b.Loop() {
		prepare()
		begin := time.Now()
		call()
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/float64(elements), "ns/element")
	b.ReportMetric(0, "ns/op") // it would count prepare, too
}

// MeasureCached measures call, which handles this number of elements that stay in the
// caches. It makes several calls between two readings of the clock.
func MeasureCached(b *testing.B, elements int, call func()) {
	const calls = 8
	Measure(b, calls*elements, func() {}, func() {
		for range calls {
			call()
		}
	})
}

// Panics fails the test unless call panics with a message that contains want.
func Panics(t *testing.T, want string, call func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got == nil || !strings.Contains(fmt.Sprint(got), want) {
			t.Errorf("panic %v, want one with %q", got, want)
		}
	}()
	call()
}

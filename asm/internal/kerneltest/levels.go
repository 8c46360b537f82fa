// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// AtLevel calls f with this level in use.
func AtLevel(level cpu.Level, f func()) {
	defer func(before cpu.Level) { cpu.Best = before }(cpu.Best)
	cpu.Best = level
	f()
}

// ForLevels runs a test with each level that the CPU has except the plain one, which
// kernels are compared with.
func ForLevels(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	runLevels(t, cpu.Levels()[1:], test)
}

// ForEveryLevel runs a test with each level, the plain one too.
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

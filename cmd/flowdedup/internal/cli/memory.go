// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/layout"
)

// boundHeap lets the garbage collector work before the process takes more memory than half
// of what it can have: else what was freed counts against the limit of a container. What
// GOMEMLIMIT says comes first.
func boundHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(layout.MemoryLimit() / 2)
	}
}

// Remembered returns how many bytes packets may take: what a flag says, else its default, but at
// most a quarter of what the process can have.
func Remembered(fs *pflag.FlagSet, flag string, memory int) int {
	if fs.Changed(flag) {
		return memory
	}
	return min(memory, 2*layout.MemoryBudget())
}

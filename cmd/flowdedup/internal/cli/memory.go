// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/layout"
)

// boundHeap lets the garbage collector work before the process takes more memory than half of
// its limit: otherwise freed memory counts against the limit of a container. GOMEMLIMIT takes
// precedence.
func boundHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(layout.MemoryLimit() / 2)
	}
}

// Remembered returns how many bytes packets may take: the value of a flag, else its default,
// but at most a quarter of the process's limit.
func Remembered(fs *pflag.FlagSet, flag string, memory int) int {
	if fs.Changed(flag) {
		return memory
	}
	return min(memory, 2*layout.MemoryBudget())
}

// SPDX-License-Identifier: Apache-2.0

package line

import "github.com/flowdedup/flowdedup/layout"

// Prefetch has the CPU fetch the lines of some hashes to its caches, and does not wait for
// them: the caller does something else, for about as long as it takes. The low bits of a
// hash are the number of its line. There are a power of two lines, or Prefetch panics.
func Prefetch(lines []layout.Line, hashes []uint64) {
	if len(lines) == 0 || len(lines)&(len(lines)-1) != 0 {
		panic("line: Prefetch: not a power of two lines")
	}
	prefetch(lines, hashes)
}

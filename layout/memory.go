// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"math"
)

const (
	// budgetShare is the part of the machine's memory that tables may take which grow
	// with the traffic. The buffers of the kernel, the page cache and other programs
	// need the rest.
	budgetShare = 8
	// unknownBudget is the budget where the machine's memory is not known.
	unknownBudget = 1 << 30
)

// MemoryBudget returns how many bytes tables that grow with the traffic may take by
// default: an eighth of the memory that this process can have, or 1 GiB where that is not
// known.
func MemoryBudget() int {
	limit, ok := memoryLimit()
	if !ok {
		return unknownBudget
	}
	return int(limit / budgetShare)
}

// MemoryLimit returns how many bytes of memory this process can have: see MemoryBudget. It
// is math.MaxInt64 where that is not known.
func MemoryLimit() int64 {
	if limit, ok := memoryLimit(); ok {
		return limit
	}
	return math.MaxInt64
}

// addressable caps a limit at what a pointer of this machine can reach.
func addressable(limit int64) int64 { return min(limit, math.MaxInt) }

// MemoryAvailable returns how many bytes this process can still take before the system
// swaps or kills, and reports false where that is not known. On Linux it is what the
// machine has available, or what the memory cgroups of the process leave, whichever is
// less. Elsewhere it is the memory of the machine.
func MemoryAvailable() (n int64, ok bool) { return memoryAvailable() }

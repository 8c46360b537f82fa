package layout

import (
	"math"
)

const (
	// budgetShare is the part of the machine's memory that tables which grow with the
	// traffic may take: the kernel's buffers, the page cache and other programs
	// need the rest.
	budgetShare = 8
	// unknownBudget stands in where the machine's memory is not known.
	unknownBudget = 1 << 30
)

// MemoryBudget returns how many bytes may be taken by default by what grows with the traffic:
// an eighth of memoryLimit, or 1 GiB where that is not known.
func MemoryBudget() int {
	limit, ok := memoryLimit()
	if !ok {
		return unknownBudget
	}
	return int(limit / budgetShare)
}

// addressable caps a limit at what pointers of this machine can reach.
func addressable(limit int64) int64 { return min(limit, math.MaxInt) }

// MemoryAvailable returns how many bytes this process can still take without others being
// swapped out or killed; it reports false where that is not known. On Linux it is what the
// machine has available, or what the memory cgroup of the process or one above it leaves,
// whichever is less. Elsewhere it is memoryLimitIn.
func MemoryAvailable() (n int64, ok bool) { return memoryAvailable() }

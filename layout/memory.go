// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"cmp"
	"math"

	"github.com/klauspost/cpuid/v2"
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

// addressable caps a limit at the memory that a pointer of this machine can reach.
func addressable(limit int64) int64 { return min(limit, math.MaxInt) }

// MemoryAvailable returns how many bytes this process can still take before the system
// swaps or kills, and reports false where that is not known. On Linux it is the memory
// that the machine has available or the memory cgroups of the process leave, whichever is
// less. Elsewhere it is the memory of the machine.
func MemoryAvailable() (n int64, ok bool) { return memoryAvailable() }

// CacheSizes are the sizes in bytes of the data caches that one core sees. Cores usually
// share L3.
type CacheSizes struct {
	L1, L2, L3 int
}

// defaultCaches stand in for sizes that the CPU or its hypervisor does not report. A core
// of a current server has at least these.
var defaultCaches = CacheSizes{L1: 32 << 10, L2: 1 << 20, L3: 16 << 20}

// Caches returns the cache sizes of this machine's CPU. All are positive, and none is
// smaller than the level before it. The CPU says them on amd64, the system elsewhere.
func Caches() CacheSizes { return sane(reportedCaches()) }

// reportedCaches has 0 for sizes that neither the CPU nor the system says.
func reportedCaches() CacheSizes {
	c := cpuid.CPU.Cache
	if c.L1D > 0 && c.L2 > 0 && c.L3 > 0 {
		return CacheSizes{c.L1D, c.L2, c.L3}
	}
	s := systemCaches()
	return CacheSizes{L1: cmp.Or(max(c.L1D, 0), s.L1), L2: cmp.Or(max(c.L2, 0), s.L2), L3: cmp.Or(max(c.L3, 0), s.L3)}
}

// level returns the size of the cache with a name: "l1", "l2" or "l3".
func (c CacheSizes) level(name string) (bytes int, ok bool) {
	switch name {
	case "l1":
		return c.L1, true
	case "l2":
		return c.L2, true
	case "l3":
		return c.L3, true
	}
	return 0, false
}

// Assumed reports whether neither the CPU nor the system says the size that Budget returns.
func Assumed(name string) bool {
	bytes, ok := reportedCaches().level(name)
	return ok && bytes == 0
}

// sane fills in unknown sizes, and corrects levels that a virtual machine reports smaller
// than the level before.
func sane(c CacheSizes) CacheSizes {
	c.L1 = cmp.Or(max(c.L1, 0), defaultCaches.L1)
	c.L2 = max(cmp.Or(max(c.L2, 0), defaultCaches.L2), c.L1)
	c.L3 = max(cmp.Or(max(c.L3, 0), defaultCaches.L3), c.L2)
	return c
}

// Budget returns the size in bytes of the cache level with this name: "l1", "l2" or "l3".
// It reports false for every other name.
func Budget(name string) (bytes int, ok bool) { return Caches().level(name) }

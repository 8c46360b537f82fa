//go:build !linux

package paper

// adviseHugePages leaves the size of pages to the system.
func adviseHugePages([]uint64) {}

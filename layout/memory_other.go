//go:build !linux && !darwin

package layout

// MemoryLimit reports false: this system is not asked.
func MemoryLimit() (limit int64, ok bool) { return 0, false }

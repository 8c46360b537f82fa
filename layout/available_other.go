//go:build !linux

package layout

func memoryAvailable() (int64, bool) { return memoryLimit() }

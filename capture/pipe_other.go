//go:build !linux

package capture

import "os"

// widen does nothing where pipes are as wide as they are.
func widen(*os.File) {}

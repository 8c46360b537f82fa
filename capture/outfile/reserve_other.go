//go:build !linux

package outfile

import "os"

// reserve is for systems that take room for a file ahead.
func reserve(*os.File, int64) error { return nil }

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package outfile

import (
	"errors"
	"os"
)

// lockFile is for systems whose locks end with the process.
func lockFile(*os.File) error { return errors.ErrUnsupported }

//go:build !unix

package outfile

import (
	"io/fs"
	"os"
)

// keepOwner is for systems whose files have one owner and one group.
func keepOwner(*os.File, fs.FileInfo) {}

package outfile

import (
	"os"
	"strings"
)

// Sweep removes what killed runs have left in the folder of a name. Create, Grow and
// LockName do so themselves.
func Sweep(name string) {
	dir, err := openFolder(folderOf(name))
	if err != nil {
		return
	}
	defer dir.close()
	sweep(dir)
}

// sweep removes what killed runs have left in a folder: hidden files of ours that nobody
// has locked. What cannot be listed or locked stays.
func sweep(dir *folder) {
	list, err := dir.list()
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := list.Readdirnames(-1) // those before an error count
	for _, name := range names {
		if strings.HasPrefix(name, ".") && (strings.HasSuffix(name, tempEnding) || strings.HasSuffix(name, lockEnding)) {
			removeStale(dir, name)
		}
	}
}

func removeStale(dir *folder, name string) {
	file, err := dir.open(name, os.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer file.Close()
	if lockFile(file) != nil {
		return
	}
	if ours, _ := dir.refersTo(name, file); ours {
		_ = dir.remove(name) // the next run tries again
	}
}

package layout

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

func memoryAvailable() (int64, bool) { return availableBelow(os.DirFS("/")) }

// availableBelow reads the files below root.
func availableBelow(root fs.FS) (n int64, ok bool) {
	kib, ok := namedNumber(root, "proc/meminfo", "MemAvailable:")
	n = min(kib, 1<<52) << 10
	for _, dir := range memoryCgroups(root) {
		for _, names := range [][3]string{
			{"memory.max", "memory.current", "inactive_file"},
			{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
		} {
			limit, limited := cgroupLimit(root, path.Join(dir, names[0]))
			used, known := cgroupLimit(root, path.Join(dir, names[1]))
			if !limited || !known {
				continue
			}
			// Pages of files count as used, and are given back first.
			files, _ := namedNumber(root, path.Join(dir, "memory.stat"), names[2])
			if left := max(0, limit-max(0, used-files)); !ok || left < n {
				n, ok = left, true
			}
		}
	}
	return addressable(n), ok
}

// namedNumber returns the number behind a name in a file of lines such as "name 42".
func namedNumber(root fs.FS, file, name string) (n int64, ok bool) {
	for _, line := range readLines(root, file) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

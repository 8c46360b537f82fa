// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// memoryLimit returns how many bytes of memory this process can have: the machine's
// memory, or the limit of the process's memory cgroup or a cgroup above, whichever is
// least. It reads version 2 (memory.max, and memory.high, which throttles) and version 1
// (memory.limit_in_bytes) of cgroups(7). It reports false where none of these is known.
func memoryLimit() (limit int64, ok bool) {
	return memoryLimitIn(os.DirFS("/"))
}

// memoryLimitIn reads the files below root.
func memoryLimitIn(root fs.FS) (limit int64, ok bool) {
	limit, ok = totalMemory(root)
	for _, dir := range memoryCgroups(root) {
		for _, name := range []string{"memory.max", "memory.high", "memory.limit_in_bytes"} {
			if n, set := cgroupLimit(root, path.Join(dir, name)); set && (!ok || n < limit) {
				limit, ok = n, true
			}
		}
	}
	return addressable(limit), ok
}

// totalMemory returns the machine's memory. Containers with lxcfs show less there than
// sysinfo(2) returns.
func totalMemory(root fs.FS) (n int64, ok bool) {
	for _, line := range readLines(root, "proc/meminfo") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return kib << 10, err == nil && kib > 0 && kib < 1<<53
		}
	}
	return 0, false
}

// cgroupLimit returns a limit in bytes. There is none if the file does not exist or says
// "max"; version 1 says a number near 2^63 instead.
func cgroupLimit(root fs.FS, name string) (n int64, ok bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return n, err == nil
}

// memoryCgroups returns the folders of the cgroups that bound this process's memory: its
// own and those above it, as far up as they are mounted.
func memoryCgroups(root fs.FS) (dirs []string) {
	for _, mount := range cgroupMounts(root) {
		dir := mount.folder(cgroupPath(root, mount.version))
		for dirs = append(dirs, dir); dir != mount.point; {
			dir = path.Dir(dir)
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// cgroupMount is a mounted hierarchy of cgroups that may have the memory controller.
type cgroupMount struct {
	version int
	base    string // the cgroup that is mounted: in a container often its own
	point   string // where it is mounted, relative to the root
}

// folder returns the folder of a cgroup, or the mount point for a cgroup outside of the
// mount.
func (m cgroupMount) folder(cgroup string) string {
	below, ok := strings.CutPrefix(cgroup+"/", strings.TrimSuffix(m.base, "/")+"/")
	if !ok {
		return m.point
	}
	return path.Join(m.point, below)
}

// cgroupMounts reads where cgroups are mounted (proc_pid_mountinfo(5)). A hyphen
// separates the two groups of fields.
func cgroupMounts(root fs.FS) (mounts []cgroupMount) {
	for _, line := range readLines(root, "proc/self/mountinfo") {
		before, behind, _ := strings.Cut(line, " - ")
		f, kind := strings.Fields(before), strings.Fields(behind)
		if len(f) < 5 || len(kind) < 3 {
			continue
		}
		m := cgroupMount{base: unescape.Replace(f[3]), point: path.Clean(strings.Trim(unescape.Replace(f[4]), "/"))}
		switch {
		case kind[0] == "cgroup2":
			m.version = 2
		case kind[0] == "cgroup" && inList(kind[2], "memory"):
			m.version = 1
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// cgroupPath returns the cgroup of this process in the hierarchy of a version, or "/".
func cgroupPath(root fs.FS, version int) string {
	for _, line := range readLines(root, "proc/self/cgroup") {
		f := strings.SplitN(line, ":", 3)
		if len(f) == 3 && (version == 2 && f[0] == "0" && f[1] == "" || version == 1 && inList(f[1], "memory")) {
			return path.Clean(f[2])
		}
	}
	return "/"
}

// unescape undoes the kernel's escapes of characters that separate fields.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// inList reports whether a word is in a comma-separated list.
func inList(list, word string) bool {
	return strings.Contains(","+list+",", ","+word+",")
}

// readLines returns the lines of a file, none if it cannot be read.
func readLines(root fs.FS, name string) (lines []string) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
}

func systemCaches() CacheSizes { return cachesIn(os.DirFS("/")) }

// cachesIn reads the data caches of the first CPU (Linux, Documentation/ABI/testing/
// sysfs-devices-system-cpu). Sizes that are not known are 0.
func cachesIn(root fs.FS) (c CacheSizes) {
	dirs, _ := fs.Glob(root, "sys/devices/system/cpu/cpu0/cache/index*")
	for _, dir := range dirs {
		word := func(name string) string {
			return strings.Join(readLines(root, path.Join(dir, name)), "")
		}
		kib, err := strconv.Atoi(strings.TrimSuffix(word("size"), "K"))
		if size := map[string]*int{"1": &c.L1, "2": &c.L2, "3": &c.L3}[word("level")]; size != nil && err == nil && word("type") != "Instruction" {
			*size = kib << 10
		}
	}
	return c
}

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
			// The kernel counts file pages as used, but reclaims them first.
			files, _ := namedNumber(root, path.Join(dir, "memory.stat"), names[2])
			if left := max(0, limit-max(0, used-files)); !ok || left < n {
				n, ok = left, true
			}
		}
	}
	return addressable(n), ok
}

// namedNumber returns the number after a name in a file of lines such as "name 42".
func namedNumber(root fs.FS, file, name string) (n int64, ok bool) {
	for _, line := range readLines(root, file) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// The files that the kernel shows on hosts and in containers, by version of cgroups.
const (
	meminfo    = "MemTotal:       16777216 kB\nMemFree:         1000000 kB\n"
	mountsV2   = "24 1 0:22 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountsV1   = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	mountsBoth = mountsV1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	// A container without a namespace for cgroups sees its own one mounted, by its
	// path on the host.
	mountsDocker = "36 31 0:33 /docker/c0ffee /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	noLimitV1    = "9223372036854771712\n"
	gib          = 1 << 30
)

func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroups", map[string]string{"proc/meminfo": meminfo}, 16 * gib},
		{"version 2, no limit", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/user.slice\n",
			"sys/fs/cgroup/user.slice/memory.max": "max\n",
		}, 16 * gib},
		{"version 2", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/system.slice/flowdedup.service\n",
			"sys/fs/cgroup/system.slice/flowdedup.service/memory.max": "2147483648\n",
		}, 2 * gib},
		{"version 2, throttled", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.high": "1073741824\n",
		}, 1 * gib},
		{"version 2, the one above is less", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/a/b/c\n",
			"sys/fs/cgroup/a/b/c/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.max": "1073741824\n",
		}, 1 * gib},
		{"version 2, in a container of its own", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "3221225472\n",
		}, 3 * gib},
		{"version 2, moved out of its namespace", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/../other\n",
			"sys/fs/cgroup/memory.max": "3221225472\n",
		}, 3 * gib},
		{"version 1, no limit", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV1, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": noLimitV1,
		}, 16 * gib},
		{"version 1 beside version 2", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsBoth, "proc/self/cgroup": "5:cpu:/x\n4:memory:/a\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   noLimitV1,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/cpu/x/memory.limit_in_bytes":    "5\n",
		}, 1 * gib},
		{"version 1, joint controllers", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": "35 31 0:32 / /cg\\040mem rw - cgroup cgroup rw,cpu,memory\n",
			"proc/self/cgroup": "4:cpu,memory:/a\n", "cg mem/a/memory.limit_in_bytes": "1073741824\n",
		}, 1 * gib},
		{"version 1, in a container that sees its own only", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsDocker, "proc/self/cgroup": "4:memory:/docker/c0ffee\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
		}, 1 * gib},
		{"more than there is", map[string]string{
			"proc/meminfo": meminfo, "proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "1099511627776\n",
		}, 16 * gib},
		{"mounted as the root", map[string]string{
			"proc/self/mountinfo": "30 23 0:26 / / rw - cgroup2 cgroup2 rw\n", "proc/self/cgroup": "0::/a\n",
			"a/memory.max": "1073741824\n",
		}, 1 * gib},
		{"a cgroup alone", map[string]string{
			"proc/self/mountinfo": mountsV2, "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 * gib},
		{"nonsense", map[string]string{
			"proc/meminfo": "MemTotal: many kB\n", "proc/self/mountinfo": "1 2\n - \n", "proc/self/cgroup": "4\n",
		}, -1},
		{"nothing", nil, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, data := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(data)}
			}
			got, ok := memoryLimitIn(root)
			if ok != (c.want >= 0) || ok && got != addressable(c.want) {
				t.Errorf("%d, %v, want %d", got, ok, c.want)
			}
		})
	}
}

func TestMemoryAvailable(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	machine := fstest.MapFS{"proc/meminfo": file("MemTotal: 1000 kB\nMemAvailable:     500 kB\n")}
	group := fstest.MapFS{
		"proc/meminfo":                        machine["proc/meminfo"],
		"proc/self/mountinfo":                 file("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
		"proc/self/cgroup":                    file("0::/app\n"),
		"sys/fs/cgroup/app/memory.max":        file("300000\n"),
		"sys/fs/cgroup/app/memory.current":    file("200000\n"),
		"sys/fs/cgroup/app/memory.stat":       file("anon 1\ninactive_file 50000\n"),
		"sys/fs/cgroup/memory.max":            file("max\n"),
		"sys/fs/cgroup/app/memory.swap.max":   file("0\n"),
		"sys/fs/cgroup/other/memory.max":      file("1\n"),
		"sys/fs/cgroup/other/memory.current":  file("1\n"),
		"sys/fs/cgroup/memory.limit_in_bytes": file("5\n"), // without memory.stat's usage
	}
	full := fstest.MapFS{"sys/fs/cgroup/app/memory.current": file("400000\n")}
	for name, one := range group {
		if full[name] == nil {
			full[name] = one
		}
	}
	for _, c := range []struct {
		root fstest.MapFS
		want int64
		ok   bool
	}{
		{fstest.MapFS{}, 0, false}, {machine, 500 << 10, true}, {group, 150_000, true}, {full, 0, true},
		{fstest.MapFS{"proc/meminfo": file("MemAvailable: many kB\n")}, 0, false},
	} {
		if n, ok := availableBelow(c.root); ok != c.ok || ok && n != c.want {
			t.Errorf("%v: %d, %v, want %d, %v", c.root, n, ok, c.want, c.ok)
		}
	}
	if n, ok := MemoryAvailable(); !ok || n <= 0 {
		t.Errorf("this machine: %d, %v", n, ok)
	}
}

// TestCachesIn reads what systems on arm64 show: separate caches of the first level, in KiB.
func TestCachesIn(t *testing.T) {
	root := fstest.MapFS{}
	for i, c := range [][3]string{{"1", "Data", "64K"}, {"1", "Instruction", "128K"}, {"2", "Unified", "1024K"}, {"3", "Unified", "32768K"}, {"4", "Unified", "65536K"}} {
		for j, name := range []string{"level", "type", "size"} {
			root[fmt.Sprintf("sys/devices/system/cpu/cpu0/cache/index%d/%s", i, name)] = &fstest.MapFile{Data: []byte(c[j] + "\n")}
		}
	}
	if got, want := cachesIn(root), (CacheSizes{L1: 64 << 10, L2: 1 << 20, L3: 32 << 20}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	delete(root, "sys/devices/system/cpu/cpu0/cache/index2/size")
	if got, want := cachesIn(root), (CacheSizes{L1: 64 << 10, L3: 32 << 20}); got != want {
		t.Errorf("without a size: %+v, want %+v", got, want)
	}
	if got := cachesIn(fstest.MapFS{}); got != (CacheSizes{}) {
		t.Errorf("without files: %+v", got)
	}
}

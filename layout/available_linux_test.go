package layout

import (
	"testing"
	"testing/fstest"
)

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
		"sys/fs/cgroup/memory.limit_in_bytes": file("5\n"), // without what is used
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

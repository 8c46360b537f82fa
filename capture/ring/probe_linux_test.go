package ring

import (
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A kernel whose memory for programs is at odds with itself never returns from loading
// one, nor ends whoever asked for it: so that is found out by a process that is left
// behind then.

const probe = "FLOWDEDUP_TEST_PROBE_FILTERS"

func TestMain(m *testing.M) {
	if os.Getenv(probe) == "" {
		os.Exit(m.Run())
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = attachFilter(fd, rejectAll)
	}
	if err != nil {
		os.Exit(1)
	}
}

// filtersLoad reports whether the kernel takes a filter.
var filtersLoad = sync.OnceValue(func() bool {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), probe+"=1")
	if err := c.Start(); err != nil {
		return false
	}
	loaded := make(chan bool, 1)
	go func() { loaded <- c.Wait() == nil }()
	select {
	case ok := <-loaded:
		return ok
	case <-time.After(10 * time.Second):
		return false
	}
})

// possible reports whether the kernel can make a capture of c: with its filter, if it
// wants one.
func possible(c *Config) bool {
	wants := c.Filters != nil || c.SnapLen > 0 || c.Rings > 1 || slices.Contains(c.Interfaces, Any)
	return !wants || filtersLoad()
}

// needFilters skips a test whose capture is not possible.
func needFilters(t testing.TB, c *Config) {
	t.Helper()
	if !possible(c) {
		t.Skip("the kernel loads no filters")
	}
}

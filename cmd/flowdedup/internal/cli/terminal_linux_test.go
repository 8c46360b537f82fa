package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal returns the side of a pseudoterminal that programs write to.
func newTerminal(t *testing.T) *os.File {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { control.Close() })
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal
}

// TestPacketsToTerminal refuses packets on a terminal, and nothing else there.
func TestPacketsToTerminal(t *testing.T) {
	terminal := newTerminal(t)
	in, out := bundled("router-plain.pcapng"), filepath.Join(t.TempDir(), "out.pcapng")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"dedup", in, "-w", "-"}, exitUsage, "-w - | tcpdump -r -"},
		{[]string{"dedup", in, "--duplicates", "/dev/stdout"}, exitUsage, "-w - | tcpdump -r -"},
		{[]string{"live", "-i", "lo", "-w", "-"}, exitUsage, "-w - | tcpdump -r -"},
		{[]string{"dedup", in, "-w", out}, exitDone, ""},
	} {
		var stderr strings.Builder
		cmd := program(t, c.args...)
		cmd.Stdout, cmd.Stderr = terminal, &stderr
		if code := exitCodeOf(t, cmd.Run()); code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit code %d, stderr %q", c.args, code, &stderr)
		}
	}
}

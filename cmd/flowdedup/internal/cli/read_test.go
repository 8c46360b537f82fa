package cli

import (
	"strings"
	"testing"
)

// TestReadFlag reads the same with -r as without, those of flags before arguments.
func TestReadFlag(t *testing.T) {
	first, second := bundled("router-in.pcap"), bundled("router-out.pcap")
	args := []string{"--no-merge", "--key", strings.Repeat("5a", 32)}
	wantDedup := runDedup(t, exitDone, append(args, first, second)...)
	args = append([]string{"distinct", "--list"}, args...)
	wantList, _, _ := run(append(args, first, second)...)
	for _, c := range [][]string{{"-r", first, second}, {second, "-r", first}, {"-r", first, "--read", second}} {
		if got := runDedup(t, exitDone, append(args[2:], c...)...); got != wantDedup {
			t.Errorf("dedup %q: %+v, want %+v", c, got, wantDedup)
		}
		got, errs, code := run(append(args, c...)...)
		if code != exitDone || wantList == "" || got != wantList {
			t.Errorf("distinct %q: exit code %d, %s%s, want %s", c, code, got, errs, wantList)
		}
	}
}

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// hostile lists the damaged files of the shared set: how many packets are
// readable, and the exit code that must tell about it.
var hostile = []struct {
	name    string
	packets uint64
	code    int
}{
	{"01-truncated-file-header.pcap", 0, exitFailed},
	{"02-truncated-last-packet.pcap", 5, exitDamaged},
	{"03-truncated-record-header.pcap", 5, exitDamaged},
	{"04-caplen-4GB.pcap", 2, exitDamaged},
	{"05-zero-and-negative-lengths.pcap", 7, exitDone},
	{"06-caplen-negative.pcap", 1, exitDamaged},
	{"07-block-length-0.pcapng", 1, exitDamaged},
	{"08-block-length-unaligned.pcapng", 1, exitDamaged},
	{"09-total-length-mismatch.pcapng", 1, exitDamaged},
	{"10-interface-out-of-range.pcapng", 1, exitDamaged},
	{"11-option-overrun.pcapng", 3, exitDamaged}, // the packets are sound, the options are not
	{"12-idb-option-overrun.pcapng", 0, exitFailed},
	{"13-gzip-wrong-name.pcap", 6, exitDone},
	{"14-gzip-cut.pcap.gz", 4, exitDamaged},
	{"15-empty-file.pcap", 0, exitFailed},
	{"16-text-file.pcap", 0, exitFailed},
	{"17-snaplen-2^31.pcap", 6, exitDone},
	{"18-snaplen-0.pcap", 6, exitDone},
	{"19-epb-caplen-beyond-block.pcapng", 1, exitDamaged},
	{"20-block-length-4GB.pcapng", 1, exitDamaged},
	{"21-tsresol-extreme.pcapng", 3, exitDone},
	{"22-ipv6-ext-header-chain.pcap", 1, exitDone},
	{"23-vlan-stack-1000.pcap", 1, exitDone},
	{"24-time-backwards-year.pcap", 5, exitDone},
}

func TestHostile(t *testing.T) {
	dir := filepath.Join(sharedDir(t), "hostile")
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			path := filepath.Join(dir, h.name)
			out := filepath.Join(t.TempDir(), "out")
			r := runDedup(t, h.code, path, "--identity", "frame", "-w", out)
			if r.PacketsIn != h.packets || r.Damaged != (h.code == exitDamaged) {
				t.Errorf("%d packets, damaged %v; want %d", r.PacketsIn, r.Damaged, h.packets)
			}
			checkHostileOutput(t, out, h.code, r.PacketsOut)
			_, errs, _ := run("dedup", "--method", "exact", path)
			checkHostileMessage(t, errs, h.name, h.code)
		})
	}
}

// checkHostileOutput reads back what was written: the survivors, in a file
// that is sound, or no file at all.
func checkHostileOutput(t *testing.T, out string, code int, survivors uint64) {
	t.Helper()
	if code == exitFailed {
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("an output was left: %v", err)
		}
		return
	}
	again := runDedup(t, exitDone, out, "--identity", "frame", "--window", "n:1")
	if again.PacketsIn != survivors {
		t.Errorf("%d packets in the output, want %d", again.PacketsIn, survivors)
	}
}

// checkHostileMessage wants one line that names the file and the offset.
func checkHostileMessage(t *testing.T, errs, name string, code int) {
	t.Helper()
	if code == exitDone {
		if errs != "" {
			t.Errorf("complaint about a readable file: %s", errs)
		}
		return
	}
	line := regexp.MustCompile(`^flowdedup: (warning: )?\S*` + regexp.QuoteMeta(name) + `: offset \d+: .+\n$`)
	if !line.MatchString(errs) || bytes.Count([]byte(errs), []byte("\n")) != 1 {
		t.Errorf("message %q", errs)
	}
}

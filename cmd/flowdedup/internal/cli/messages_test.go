package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// writeRaw makes a capture of raw IP.
func writeRaw(t *testing.T, packets ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "raw.pcap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(1<<16, layers.LinkTypeRaw); err != nil {
		t.Fatal(err)
	}
	for i, p := range packets {
		info := gopacket.CaptureInfo{Timestamp: time.Unix(int64(i), 0), CaptureLength: len(p), Length: len(p)}
		if err := w.WritePacket(info, []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// TestTunnelsNoticed points to identity inner where most packets are in tunnels, and
// where that would change something.
func TestTunnelsNoticed(t *testing.T) {
	const address = "\x0a\x00\x00\x01\x0a\x00\x00\x02"
	const plain = "\x45\x00\x00\x1c\x00\x01\x00\x00\x40\x11\x00\x00" + address + "\x00\x05\x00\x06\x00\x08\x00\x00"
	const gre = "\x45\x00\x00\x34\x00\x01\x00\x00\x40\x2f\x00\x00" + address + "\x00\x00\x08\x00" + plain
	const want = "flowdedup: noticed: 75 % of packets are GRE; for copies inside of tunnels try --identity inner\n"
	most, half := writeRaw(t, gre, plain, gre, gre), writeRaw(t, gre, plain, gre, plain)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{most}, want},
		{[]string{"--json", most}, want},
		{[]string{"--quiet", most}, ""},
		{[]string{"--identity", "inner", most}, ""},
		{[]string{"--identity", "frame", most}, ""},
		{[]string{half}, ""},
	} {
		out, errs, code := run(append([]string{"dedup"}, c.args...)...)
		if code != exitDone || errs != c.want || strings.Contains(out, "noticed: ") {
			t.Errorf("%v: exit code %d, %q", c.args, code, errs)
		}
	}
}

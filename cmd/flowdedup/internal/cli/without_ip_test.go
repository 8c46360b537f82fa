package cli

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// writeFrames makes a capture of the given link type word with a frame each
// millisecond.
func writeFrames(t *testing.T, link uint32, frames ...[]byte) string {
	t.Helper()
	le := binary.LittleEndian
	out := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00")
	out = le.AppendUint32(out, link)
	for i, f := range frames {
		for _, v := range []int{1_700_000_000, 1000 * i, len(f), len(f)} {
			out = le.AppendUint32(out, uint32(v))
		}
		out = append(out, f...)
	}
	name := filepath.Join(t.TempDir(), "in.pcap")
	if err := os.WriteFile(name, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTapsWithoutIP merges what an access port, a trunk, a tap that keeps the check
// sequence, and two interfaces of an any capture saw of the same ARP requests.
func TestTapsWithoutIP(t *testing.T) {
	const ethernet, sll2, checkSequence = 1, 276, 1<<26 | 2<<28
	var access, trunk, tap, cooked [][]byte
	for n := range byte(20) {
		arp := append([]byte("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x06"),
			"\x00\x01\x08\x00\x06\x04\x00\x01\x02\x00\x00\x00\x00\x01\x0a\x00\x00\x01\x00\x00\x00\x00\x00\x00\x0a\x00\x00"...)
		arp = append(arp, n)
		padded := append(slices.Clone(arp), make([]byte, 18)...)
		access, tap = append(access, arp), append(tap, append(slices.Clone(padded), n, 2, 3, 4))
		trunk = append(trunk, slices.Insert(slices.Clone(padded), 12, 0x81, 0, 0, 100))
		head := []byte("\x08\x06\x00\x00\x00\x00\x00\x02\x00\x01\x01\x06\x02\x00\x00\x00\x00\x01\x00\x00")
		cooked = append(cooked, append(slices.Clone(head), padded[14:]...))
		head[7] = 3 // of another interface
		cooked = append(cooked, append(head, arp[14:]...))
	}
	files := []string{writeFrames(t, ethernet, access...), writeFrames(t, ethernet, trunk...), writeFrames(t, ethernet|checkSequence, tap...)}
	for _, c := range []struct {
		args []string
		want uint64
	}{
		{files, 40},
		{append([]string{"--across"}, files...), 40},
		{append([]string{"--identity", "frame"}, files...), 0},
		{[]string{"--identity", "frame", "--ignore", "vlan", files[0], files[1]}, 0},
		{[]string{"--across", writeFrames(t, sll2, cooked...)}, 20},
		{[]string{files[0], writeFrames(t, sll2, cooked[0])}, 0},
		{[]string{"--ignore", "mac", files[0], writeFrames(t, sll2, cooked[0])}, 1},
	} {
		if r := runDedup(t, exitDone, c.args...); r.Duplicates != c.want || r.NonIP != r.PacketsIn {
			t.Errorf("%v: %+v, want %d copies", c.args, r, c.want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// soundness counts the packets of a file by their integrity: of TCP and UDP, and of others.
func soundness(t *testing.T, name string) (transport, others map[identity.Integrity]int) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	transport, others = map[identity.Integrity]int{}, map[identity.Integrity]int{}
	d, h := headers.NewDecoder(headers.DecoderConfig{Inner: true}), make([]headers.Header, 1)
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			d.Decode(h, &b, i)
			if to := transport; h[0].Proto == 6 || h[0].Proto == 17 {
				to[identity.IntegrityOf(&h[0], &b, i)]++
			} else {
				others[identity.IntegrityOf(&h[0], &b, i)]++
			}
		}
	}
	return transport, others
}

// statusByTshark counts the TCP and UDP packets of a file by what tshark says of their
// checksums: 0 is bad, 1 is good, and 2 is not verified.
func statusByTshark(t *testing.T, name string) map[string]int {
	t.Helper()
	out, err := exec.Command("tshark", "-r", name, "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", "-T", "fields", "-e", "tcp.checksum.status", "-e", "udp.checksum.status").Output()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, word := range strings.Fields(string(out)) {
		counts[word]++
	}
	return counts
}

// TestIntactMirror keeps, of a mirror of both ends, the packets whose checksums are filled in:
// all that are whole. The mirror has cut 16 others.
func TestIntactMirror(t *testing.T) {
	t.Parallel()
	mirror := clitest.Bundled("mirror-vxlan.pcap")
	for _, keep := range []string{"first", "flow"} {
		for _, prefer := range []bool{true, false} {
			var before []byte
			for workers := 1; workers <= 3; workers++ {
				dir := t.TempDir()
				kept, removed := filepath.Join(dir, "kept.pcap"), filepath.Join(dir, "removed.pcap")
				same := []string{"--identity", "inner", "--ignore", "l4-checksum"}
				if !prefer {
					same = append(same, "--prefer", "first")
				}
				args := append(slices.Clone(same), "--keep", keep, "--workers", strconv.Itoa(workers))
				s := clitest.RunDedup(t, cli.ExitDone, append(args, "-w", kept, "--duplicates", removed, mirror)...)
				transport, _ := soundness(t, kept)
				valid, wrong := transport[identity.ValidChecksum], transport[identity.WrongChecksum]
				switch {
				case prefer && (valid != 236 || wrong != 0 || s.ChecksumPreferred == nil || *s.ChecksumPreferred != 236 || *s.WholePreferred != 0):
					t.Errorf("--keep %s: %v, %+v", keep, transport, s)
				case !prefer && (wrong < 236/2 || valid+wrong != 236 || s.ChecksumPreferred != nil || (s.HeldBytes != nil) != (keep == "flow")):
					t.Errorf("--keep %s --prefer first: %v, %+v", keep, transport, s)
				}
				if _, errs, code := clitest.Run(append(same, "verify", mirror, kept, removed)...); code != cli.ExitDone {
					t.Errorf("verify: exit code %d: %s", code, errs)
				}
				now := clitest.ReadFile(t, kept)
				if before != nil && !bytes.Equal(now, before) {
					t.Errorf("%d workers write another file", workers)
				}
				before = now
			}
		}
	}
}

// TestIntactByTshark lets tshark judge what the recipe for mirrors writes. It sums also what
// the mirror has cut.
func TestIntactByTshark(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip(err)
	}
	for _, keep := range []string{"first", "flow"} {
		kept := filepath.Join(t.TempDir(), "kept.pcap")
		clitest.RunDedup(t, cli.ExitDone, "--identity", "inner", "--ignore", "l4-checksum", "--keep", keep, "--strip", "tunnel", "-w", kept, clitest.Bundled("mirror-vxlan.pcap"))
		transport, _ := soundness(t, kept)
		status := statusByTshark(t, kept)
		if status["1"] != 236 || status["0"]+status["2"] != transport[identity.Truncated] {
			t.Errorf("--keep %s: %v, ours %v", keep, status, transport)
		}
	}
}

// cutTwins returns the packets of one point of a router, twice: as they are, and cut. Which
// one comes first alternates.
func cutTwins(t *testing.T, length int) (stream []clitest.Seen, cut uint64) {
	for _, p := range clitest.ReadStream(t, clitest.Bundled("router-plain.pcapng")) {
		if p.Iface != 0 {
			continue
		}
		short := p
		if len(p.Data) > length {
			short.Data = p.Data[:length]
			cut++
		}
		short.Iface = 1
		twins := []clitest.Seen{p, short}
		if len(stream)%4 == 0 {
			slices.Reverse(twins)
		}
		twins[1].Time += 1000
		stream = append(stream, twins...)
	}
	slices.SortStableFunc(stream, func(a, b clitest.Seen) int { return int(max(min(a.Time-b.Time, 1), -1)) })
	return stream, cut
}

// TestIntactWhole prefers whole packets to truncated ones.
func TestIntactWhole(t *testing.T) {
	t.Parallel()
	stream, cut := cutTwins(t, 96)
	name, kept := clitest.WriteStream(t, stream, 2), filepath.Join(t.TempDir(), "kept.pcapng")
	for _, keep := range []string{"first", "flow"} {
		s := clitest.RunDedup(t, cli.ExitDone, "--identity-bytes", "60", "--keep", keep, "-w", kept, name)
		transport, others := soundness(t, kept)
		if s.PacketsOut != uint64(len(stream)/2) || transport[identity.Truncated]+others[identity.Truncated] != 0 || s.WholePreferred == nil || *s.WholePreferred < cut/3 || *s.ChecksumPreferred != 0 {
			t.Errorf("--keep %s: %v, %v, %+v", keep, transport, others, s)
		}
		if _, errs, code := clitest.Run("verify", "--identity-bytes", "60", name, kept); code != cli.ExitDone {
			t.Errorf("verify: exit code %d: %s", code, errs)
		}
		s = clitest.RunDedup(t, cli.ExitDone, "--identity-bytes", "60", "--keep", keep, "--prefer", "first", "-w", kept, name)
		transport, _ = soundness(t, kept)
		if transport[identity.Truncated] == 0 || s.WholePreferred != nil {
			t.Errorf("--keep %s --prefer first: %v, %+v", keep, transport, s)
		}
	}
}

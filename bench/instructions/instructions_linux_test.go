// SPDX-License-Identifier: Apache-2.0

package instructions

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packets is the number of packets in the shorter capture of each pair. The difference between the
// pair leaves out what a run costs without packets.
const packets = 50_000

// budgets are the most instructions a packet, which only fall. Frames have 64 bytes with FCS; vxlan
// has them in a tunnel. Without AES instructions there are kernels for arm64 alone.
var budgets = []struct {
	command, capture string
	arm64, avx2      float64
	debug            string
}{
	{"dedup", "udp", 460, 390, ""},
	{"dedup", "udp", 710, 0, "cpu.aes=off"},
	{"dedup -w /dev/null", "udp", 675, 600, ""},
	{"dedup --identity inner", "vxlan", 700, 560, ""},
	{"distinct --of src,dst,flow", "udp", 345, 335, ""},
}

// spare is how much less a command may take before its budget falls. On a machine with much other
// work, goroutines change places at other times: counts then differ by 3 %.
const spare = 0.12

// TestBudgets runs each command at one worker.
func TestBudgets(t *testing.T) {
	if os.Getenv("FLOWDEDUP_INSTRUCTIONS") != "all" {
		t.Skip("skipped: without FLOWDEDUP_INSTRUCTIONS=all")
	}
	dir := t.TempDir()
	plugin := filepath.Join(dir, "counter.so")
	if out, err := exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", plugin, "testdata/counter.c").CombinedOutput(); err != nil {
		t.Skipf("skipped: no C compiler: %v %s", err, out)
	}
	for _, kind := range []string{"udp", "vxlan"} {
		for times := range 2 {
			writeCapture(t, capturePath(dir, kind, times+1), kind == "vxlan", packets*(times+1))
		}
	}
	for _, cpu := range []string{"arm64", "amd64"} {
		t.Run(cpu, func(t *testing.T) {
			c := newCounter(t, dir, cpu, plugin)
			for _, b := range budgets {
				budget := b.arm64
				if cpu == "amd64" {
					budget = b.avx2
				}
				if budget == 0 {
					continue
				}
				c.debug = b.debug
				got := c.perPacket(t, dir, b.capture, strings.Fields(b.command))
				t.Logf("%s of %s: %.1f instructions a packet %s", b.command, b.capture, got, b.debug)
				switch {
				case got > budget:
					t.Errorf("more than the budget of %.0f", budget)
				case got < budget*(1-spare):
					t.Errorf("less than the budget of %.0f: lower it here and in bench/README.md", budget)
				}
			}
		})
	}
}

// counter runs a program under qemu-user with the plugin.
type counter struct{ plugin, qemu, program, debug string }

var executed = regexp.MustCompile(`(?m)^executed (\d+)$`)

// newCounter builds the program. It skips the test where qemu-user cannot count.
func newCounter(t *testing.T, dir, cpu, plugin string) *counter {
	t.Helper()
	c := &counter{plugin: plugin, qemu: map[string]string{"arm64": "qemu-aarch64", "amd64": "qemu-x86_64"}[cpu], program: filepath.Join(dir, cpu)}
	if _, err := exec.LookPath(c.qemu); err != nil {
		t.Skip("skipped: no " + c.qemu)
	}
	build := exec.Command("go", "build", "-o", c.program, "../../cmd/flowdedup")
	build.Env = append(os.Environ(), "GOARCH="+cpu, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, out := c.count("--version"); !executed.MatchString(out) {
		t.Skipf("skipped: %s counts no instructions: %s", c.qemu, out)
	}
	return c
}

// perPacket returns how many instructions a command executes for a packet of a capture.
func (c *counter) perPacket(t *testing.T, dir, kind string, args []string) float64 {
	t.Helper()
	var n [2]int
	for i := range n {
		got, out := c.count(slices.Concat(args, []string{"--workers", "1", capturePath(dir, kind, i+1)})...)
		if got == 0 {
			t.Fatalf("%s: %s", args, out)
		}
		n[i] = got
	}
	return float64(n[1]-n[0]) / packets
}

// count returns how many instructions a run has executed, 0 if it fails, and what it printed.
func (c *counter) count(args ...string) (n int, printed string) {
	cmd := exec.Command(c.qemu, append([]string{"-cpu", "max", "-plugin", c.plugin, c.program}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG="+c.debug)
	out, err := cmd.CombinedOutput()
	if found := executed.FindSubmatch(out); found != nil && err == nil {
		n, _ = strconv.Atoi(string(found[1]))
	}
	return n, string(out)
}

func capturePath(dir, kind string, times int) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%d.pcap", kind, times))
}

// writeCapture writes a capture in pcap format with nanoseconds. A tenth of the packets are copies of
// a packet shortly before.
func writeCapture(t *testing.T, path string, tunnel bool, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	little := binary.LittleEndian
	b := little.AppendUint32(nil, 0xa1b23c4d)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0)
	var last [16][]byte
	for i := range n {
		packet := last[rng.IntN(len(last))]
		if packet == nil || rng.IntN(10) != 0 {
			packet = somePacket(rng, i, tunnel)
		}
		last[i%len(last)] = packet
		b = little.AppendUint32(little.AppendUint32(b, 1_700_000_000), uint32(i)*1000)
		b = little.AppendUint32(little.AppendUint32(b, uint32(len(packet))), uint32(len(packet)))
		b = append(b, packet...)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// somePacket draws a frame of 20,000 conversations.
func somePacket(rng *rand.Rand, i int, tunnel bool) []byte {
	conversation := uint16(rng.IntN(20_000))
	high, low := byte(conversation>>8), byte(conversation)
	payload := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, rng.Uint64()), uint64(i))
	packet := udpFrame([8]byte{10, 1, high, low, 10, 2, low, high}, 1024+conversation%5000, 53, uint16(i), append(payload, 0, 0))
	if !tunnel {
		return packet
	}
	return udpFrame([8]byte{10, 9, 0, 1, 10, 9, 0, 2}, 40_000+conversation%999, 4789, uint16(i), append([]byte{8, 0, 0, 0, 0, 0, 77, 0}, packet...))
}

// udpFrame returns a frame with a right checksum of IPv4, and none of UDP.
func udpFrame(addresses [8]byte, src, dst, id uint16, payload []byte) []byte {
	big := binary.BigEndian
	b := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0}
	b = big.AppendUint16(big.AppendUint16(b, uint16(28+len(payload))), id)
	b = append(append(b, 0, 0, 64, 17, 0, 0), addresses[:]...)
	sum := uint32(0)
	for at := 14; at < 34; at += 2 {
		sum += uint32(big.Uint16(b[at:]))
	}
	sum = sum&0xffff + sum>>16
	big.PutUint16(b[24:], ^uint16(sum+sum>>16))
	b = big.AppendUint16(big.AppendUint16(b, src), dst)
	b = append(big.AppendUint16(b, uint16(8+len(payload))), 0, 0)
	return append(b, payload...)
}

// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// awaitLink waits until an interface carries packets.
func awaitLink(t *testing.T, name string) {
	t.Helper()
	if err := benchlab.AwaitLink(name); err != nil {
		t.Fatal(err)
	}
}

// liveRun is a running "flowdedup live".
type liveRun struct{ *clitest.Process }

// captureArgs returns the arguments of all live runs of a test: those named TestLiveXDP
// capture through AF_XDP.
func captureArgs(t *testing.T) []string {
	if strings.HasPrefix(t.Name(), "TestLiveXDP") {
		return []string{"--capture", "xdp"}
	}
	return nil
}

// startLive starts a live run and waits until it captures.
func startLive(t *testing.T, args ...string) *liveRun {
	t.Helper()
	r := startProgram(t, args...)
	r.Event(" started ")
	return r
}

func startProgram(t *testing.T, args ...string) *liveRun {
	t.Helper()
	defaults := []string{"--ring-size", "8MiB"}
	if !slices.Contains(args, "exact") && !slices.Contains(args, "--learn") {
		defaults = append(defaults, "--memory", "1MiB") // long windows would fill hundreds
	}
	r := &liveRun{clitest.NewProcess(t, slices.Concat([]string{"live"}, captureArgs(t), overrule(defaults, args))...)}
	r.Start()
	return r
}

// stop ends the run as a user does, and returns its summary.
func (r *liveRun) stop() liveSummary {
	r.T.Helper()
	if err := r.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.T.Fatal(err)
	}
	if code := r.Wait(); code != 143 {
		r.T.Fatalf("exit code %d\n%s", code, r.Stderr.String())
	}
	return r.summary(r.Stdout.Bytes())
}

// liveSummary is the part of a summary that tests look at.
type liveSummary struct {
	PacketsIn  uint64 `json:"packets_in"`
	PacketsOut uint64 `json:"packets_out"`
	Duplicates uint64 `json:"duplicates"`
	Interfaces []struct {
		Interface  string `json:"interface"`
		Received   uint64 `json:"received"`
		Dropped    uint64 `json:"dropped"`
		Outages    uint64 `json:"outages"`
		Merged     uint64 `json:"merged"`
		NoChecksum uint64 `json:"no_checksum"`
	} `json:"interfaces"`
	Reasons map[string]uint64 `json:"differences"`
	Forward map[string]any    `json:"forward"`
	Matrix  []struct {
		First, Copy string
		Count       uint64 `json:"duplicates"`
	} `json:"matrix"`
	Learned struct {
		Decisions, Passed uint64
		Dedup             bool
		Identity          string
	} `json:"learned"`
}

// dropped adds up what the kernel dropped.
func (s *liveSummary) dropped() (n uint64) {
	for i := range s.Interfaces {
		n += s.Interfaces[i].Dropped
	}
	return n
}

// differ checks that the sampled copies differ in exactly these ways.
func (s *liveSummary) differ(t *testing.T, ways ...string) {
	t.Helper()
	for way, n := range s.Reasons {
		want := uint64(0)
		if way == "sampled" || slices.Contains(ways, way) {
			want = s.Reasons["sampled"]
		}
		if n != want {
			t.Errorf("%s: %d, want %d: %v", way, n, want, s.Reasons)
		}
	}
	if s.Reasons["sampled"] == 0 {
		t.Error("no copy was sampled")
	}
}

func (r *liveRun) summary(text []byte) (s liveSummary) {
	r.T.Helper()
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &s); err != nil {
		r.T.Fatalf("summary %q: %v", text, err)
	}
	return s
}

// liveFrame is an Ethernet frame with a UDP packet.
type liveFrame struct {
	id   uint16 // of the IP packet
	src  byte   // the last byte of its source address
	ttl  byte
	vlan uint16 // 0 for no tag
}

func (f liveFrame) bytes() []byte {
	b := []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01")
	be := binary.BigEndian
	if f.vlan != 0 {
		b = be.AppendUint16(append(b, 0x81, 0), f.vlan)
	}
	b = append(b, 8, 0)
	head := []byte{0x45, 0, 0, 46, 0, 0, 0, 0, f.ttl, 17, 0, 0, 10, 0, 0, f.src, 10, 0, 1, 1}
	be.PutUint16(head[4:], f.id)
	sum := uint32(0)
	for i := 0; i < len(head); i += 2 {
		sum += uint32(be.Uint16(head[i:]))
	}
	be.PutUint16(head[10:], ^uint16(sum+sum>>16))
	b = append(b, head...)
	b = be.AppendUint32(b, 0x04d21a85)
	b = be.AppendUint32(b, 26<<16)
	return append(b, make([]byte, 18)...)
}

// sendTo sends frames out of an interface.
func sendTo(t *testing.T, name string, frames ...liveFrame) {
	t.Helper()
	var all [][]byte
	for _, f := range frames {
		all = append(all, f.bytes())
	}
	sendBytes(t, name, all...)
}

func sendBytes(t *testing.T, name string, frames ...[]byte) {
	t.Helper()
	s, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: name, Queue: true, RetryTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet}}, Sections: make([]capture.Section, 1)}
	for _, data := range frames {
		b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: uint32(len(data)), WireLen: uint32(len(data))})
		b.Buf = append(b.Buf, data...)
	}
	if err := s.Send(b, nil); err != nil {
		t.Fatal(err)
	}
}

func canIP(arguments string) bool {
	return exec.Command("ip", strings.Fields(arguments)...).Run() == nil
}

func pidOf(r *liveRun) string { return strconv.Itoa(r.Cmd.Process.Pid) }

// lockThread keeps the test on its thread, which ends with the test.
func lockThread() { runtime.LockOSThread() }

// packetsIn counts the packets of a capture that may still grow, -1 if there is none.
func packetsIn(name string) int {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		return -1
	}
	defer src.Close()
	var b capture.Batch
	for n := 0; ; n += len(b.Frames) {
		if src.Next(&b) != nil {
			return n
		}
	}
}

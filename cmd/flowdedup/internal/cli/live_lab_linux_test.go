// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// lab moves the test's thread into a network namespace of its own, which programs that
// it starts share.
func lab(t *testing.T) {
	t.Helper()
	if err := benchlab.Enter(); err != nil {
		t.Skip(err)
	}
}

// pair makes two interfaces: what goes into one comes out of the other.
func pair(t *testing.T, left, right string) {
	t.Helper()
	if err := benchlab.Pair(left, right); err != nil {
		t.Fatal(err)
	}
}

// awaitLink waits until an interface carries packets.
func awaitLink(t *testing.T, name string) {
	t.Helper()
	if err := benchlab.AwaitLink(name); err != nil {
		t.Fatal(err)
	}
}

func ip(t *testing.T, arguments string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", arguments, err, out)
	}
}

// liveRun is a running "flowdedup live".
type liveRun struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer // up to the end of the run
	lines  chan string  // of stderr
	ended  chan error
}

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
	r.event(" started ")
	return r
}

func startProgram(t *testing.T, args ...string) *liveRun {
	t.Helper()
	defaults := []string{"--ring-size", "8MiB"}
	if !slices.Contains(args, "exact") && !slices.Contains(args, "--learn") {
		defaults = append(defaults, "--memory", "1MiB") // long windows would fill hundreds
	}
	r := &liveRun{t: t, cmd: program(t, slices.Concat([]string{"live"}, captureArgs(t), overrule(defaults, args))...)}
	r.cmd.Stdout = &r.stdout
	r.start()
	return r
}

// start starts the program and collects its messages.
func (r *liveRun) start() {
	t := r.t
	t.Helper()
	pipe, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.lines, r.ended = make(chan string, 1000), make(chan error, 1)
	go func() {
		for s := bufio.NewScanner(pipe); s.Scan(); {
			r.stderr.WriteString(s.Text() + "\n")
			r.lines <- s.Text()
		}
		close(r.lines)
		r.ended <- r.cmd.Wait()
	}()
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // it has ended, if nothing failed
}

// event waits for a line on stderr that holds a text, and returns it.
func (r *liveRun) event(text string) string {
	r.t.Helper()
	for timeout := time.After(patience); ; {
		select {
		case line, ok := <-r.lines:
			if !ok {
				r.t.Fatalf("no %q in\n%s", text, r.stderr.String())
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			r.t.Fatalf("no %q for a long time", text)
		}
	}
}

// wait returns the exit code.
func (r *liveRun) wait() int {
	r.t.Helper()
	select {
	case err := <-r.ended:
		return exitCodeOf(r.t, err)
	case <-time.After(patience):
	}
	_ = r.cmd.Process.Signal(syscall.SIGABRT) // it tells what its goroutines do
	for range r.lines {
		continue
	}
	<-r.ended
	r.t.Fatalf("it does not end\n%s", r.stderr.String())
	return -1
}

// stop ends the run as a user does, and returns its summary.
func (r *liveRun) stop() liveSummary {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if code := r.wait(); code != 143 {
		r.t.Fatalf("exit code %d\n%s", code, r.stderr.String())
	}
	return r.summary(r.stdout.Bytes())
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
	Reasons map[string]uint64 `json:"reasons"`
	Forward map[string]any    `json:"forward"`
	Matrix  []struct {
		First, Copy string
		Count       uint64
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
	r.t.Helper()
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &s); err != nil {
		r.t.Fatalf("summary %q: %v", text, err)
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
	s, err := ring.OpenSender(ring.SenderConfig{Interface: name, Queue: true, RetryTimeout: patience})
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

// framesOf returns the packets of a capture file.
func framesOf(t *testing.T, name string) (frames []string) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			frames = append(frames, string(b.Data(i)))
		}
	}
	return frames
}

// canIP reports whether ip(8) can do something; small kernels lack parts.
func canIP(arguments string) bool {
	return exec.Command("ip", strings.Fields(arguments)...).Run() == nil
}

func pidOf(r *liveRun) string { return strconv.Itoa(r.cmd.Process.Pid) }

// copyProgram copies the test binary to where every user can run it, whatever the umask.
func copyProgram(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "flowdedup-live-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // in a folder for such things
	name := filepath.Join(dir, "flowdedup")
	// A process that another test forks meanwhile would hold the file open for writing, and
	// the kernel refuses to execute such a file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := errors.Join(os.WriteFile(name, content, 0o755), os.Chmod(name, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return name
}

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

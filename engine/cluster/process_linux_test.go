// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// process is a program that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr lockedBuffer
	ended  chan struct{}
	err    error
}

// lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a program in a namespace. It ends with the test at the latest.
func (l *lab) start(at *namespace, program string, args ...string) *process {
	l.t.Helper()
	return startProcess(l.t, at.command(filepath.Join(l.programs, program), args...))
}

// startProcess starts a command. It ends with the test at the latest.
func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends a program at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// stop ends a program with SIGTERM, and returns its output. Programs that a shell starts
// in the background ignore SIGINT.
func (p *process) stop() string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err, p.stderr.String())
	}
	select {
	case <-p.ended:
	case <-time.After(wait.Timeout):
		p.t.Fatal("does not end: ", p.stderr.String())
	}
	return p.stdout.String()
}

// wait waits until a program has written a text.
func (p *process) wait(text string) {
	p.t.Helper()
	if !wait.For(func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return strings.Contains(p.stderr.String(), text)
		}
	}) {
		p.t.Fatalf("never wrote %q: %s", text, p.stderr.String())
	}
	if !strings.Contains(p.stderr.String(), text) {
		p.t.Fatalf("ended before %q: %v %s", text, p.err, p.stderr.String())
	}
}

// programs builds the two programs once.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "flowdedup-e2e-"); err != nil {
		return "", err
	}
	return dir, build(dir)
})

// build builds the two programs into a folder.
func build(dir string, flags ...string) error {
	for _, b := range []struct{ from, what string }{{"../..", "./cmd/flowdedup"}, {".", "./cmd/flowdedup-hub"}} {
		c := exec.Command("go", append(append([]string{"build", "-o", dir}, flags...), b.what)...)
		c.Dir = b.from
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w: %s", b.what, err, out)
		}
	}
	return nil
}

// TestMain is the sender too, and reads pages: see lab.send and lab.numbers.
func TestMain(m *testing.M) {
	if from := os.Getenv("FLOWDEDUP_GET"); from != "" {
		if err := get(from); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if to := os.Getenv("FLOWDEDUP_SEND"); to != "" {
		if err := send(to, os.Getenv("FLOWDEDUP_NUMBERS"), os.Getenv("FLOWDEDUP_PORTS")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// port is where the traffic goes.
const port = 7777

// send sends datagrams with the numbers from,to,each-second, to the given number of ports
// in turn.
func send(to, numbers, ports string) error {
	var first, last, rate, spread int
	if _, err := fmt.Sscanf(numbers+","+ports, "%d,%d,%d,%d", &first, &last, &rate, &spread); err != nil {
		return err
	}
	there, err := net.ResolveUDPAddr("udp", to)
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp", nil) // not connected: nobody listens there
	if err != nil {
		return err
	}
	begin, body := time.Now(), make([]byte, 100)
	for i := first; i < last; i++ {
		if wait := time.Until(begin.Add(time.Duration(i-first) * time.Second / time.Duration(rate))); wait > time.Millisecond {
			time.Sleep(wait)
		}
		binary.BigEndian.PutUint32(body, uint32(i))
		next := *there
		next.Port += i % spread
		if _, err := conn.WriteToUDP(body, &next); err != nil {
			return err
		}
	}
	return nil
}

// get prints a page.
func get(url string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

// self is the program of the tests.
func self(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/certs/certstest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// noGoroutines fails if the test leaves a goroutine of this package behind.
func noGoroutines(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		stacks := make([]byte, 1<<20)
		ended := wait.For(func() bool {
			stacks = stacks[:cap(stacks)]
			stacks = stacks[:runtime.Stack(stacks, true)]
			return strings.Count(string(stacks), "pcapoverip.(*") == 0
		})
		if !ended {
			t.Errorf("goroutines are left:\n%s", stacks)
		}
	})
}

// warned collects warnings.
type warned struct {
	mu  sync.Mutex
	all []string
}

func (w *warned) warn(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, err.Error())
}

func (w *warned) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, "\n")
}

// await waits until a warning has the words.
func (w *warned) await(t *testing.T, words string) {
	t.Helper()
	wait.Until(t, "a warning of "+words, func() bool { return strings.Contains(w.text(), words) })
}

func address(t *testing.T, name string) Address {
	t.Helper()
	a, err := ParseAddress(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// packets is a batch of n packets of a made interface.
func packets(n int, size int) *capture.Batch {
	b := &capture.Batch{}
	at := b.AppendInterface(capture.Interface{LinkType: 1, Name: "eth0"})
	for i := range n {
		b.Append(capture.Frame{Time: int64(i), Interface: at}, bytes.Repeat([]byte{byte(i)}, size))
	}
	return b
}

// encoded is n packets of 60 bytes as a pcapng file.
func encoded(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{})
	if err := w.Write(packets(n, 60), nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read returns how many packets a source has, and how many capture points, until it ends.
func read(src capture.Source) (n, points int, err error) {
	var b capture.Batch
	seen := map[uint32]bool{}
	for {
		if err := src.Next(&b); err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, len(seen), err
		}
		n += len(b.Frames)
		for i := range b.Frames {
			seen[b.Interfaces[b.Frames[i].Interface].CapturePoint] = true
		}
	}
}

// receiving is a receiver and what it adds to.
func receiving(t *testing.T, name string, cfg ReceiverConfig) (*Receiver, *pcapfile.Arrivals) {
	t.Helper()
	r, err := Open(context.Background(), address(t, name), cfg)
	if err != nil {
		t.Fatal(err)
	}
	a := pcapfile.NewArrivals([]string{name}, 10*time.Millisecond)
	r.Start(a, 0)
	return r, a
}

func connect(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// pemFiles makes an authority, and a certificate of 127.0.0.1 that it signed.
func pemFiles(t *testing.T) (cert, key, authority string) {
	t.Helper()
	return certstest.New(t).Files(t, "sensor", time.Hour)
}

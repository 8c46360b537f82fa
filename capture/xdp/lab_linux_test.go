// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// enterLab moves the test's thread into a new network namespace with a pair of interfaces,
// left and right, with a number of queues. It skips the test where capturing is not possible.
func enterLab(t testing.TB, queues string) {
	t.Helper()
	if err := lab.Enter(); err != nil {
		t.Skip(err)
	}
	if err := lab.Pair("left", "right"); err != nil {
		t.Fatal(err)
	}
	if queues != "1" {
		remakePair(t, queues, queues)
	}
	g, err := lab.NewGenerator("left", lab.MinFrame) // tries in a process of its own
	if err != nil {
		t.Skip(err)
	}
	_ = g.Close()
	c, err := Open(Config{Interfaces: []string{"right"}, RingBytes: minRingBytes})
	if err != nil {
		t.Skip(err)
	}
	_ = c.Close()
}

// remakePair replaces the pair by one with the given numbers of queues.
func remakePair(t testing.TB, left, right string) {
	t.Helper()
	ip(t, "link del left")
	ip(t, "link add left numrxqueues "+left+" numtxqueues "+left+" type veth peer name right numrxqueues "+right+" numtxqueues "+right)
	ip(t, "link set left up")
	ip(t, "link set right up")
	awaitLink(t, "left")
	ip(t, "link set left up") // waits for its queue
}

func ip(t testing.TB, arguments string) {
	t.Helper()
	if err := lab.IP(arguments); err != nil {
		t.Fatal(err)
	}
}

func awaitLink(t testing.TB, name string) {
	t.Helper()
	if err := lab.AwaitLink(name); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, c Config) *Capture {
	t.Helper()
	if c.Interfaces == nil {
		c.Interfaces = []string{"right"}
	}
	if c.RingBytes == 0 {
		c.RingBytes = 8 << 20
	}
	src, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// frame returns a UDP packet of n bytes in Ethernet: a number, and a source port that
// decides its queue.
func frame(number, port, n int) []byte {
	f := make([]byte, n)
	copy(f, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00\x45")
	be := binary.BigEndian
	be.PutUint16(f[16:], uint16(n-14))
	f[22], f[23] = 64, 17
	copy(f[26:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(be.Uint16(f[i:]))
	}
	be.PutUint16(f[24:], ^uint16(sum+sum>>16))
	be.PutUint16(f[34:], uint16(port))
	be.PutUint16(f[36:], 4000)
	be.PutUint16(f[38:], uint16(n-34))
	be.PutUint32(f[42:], uint32(number))
	for i := 46; i < n; i++ {
		f[i] = byte(i*number>>3 + number)
	}
	return f
}

func numberOf(f []byte) int { return int(binary.BigEndian.Uint32(f[42:])) }

// frames returns n frames of many sizes.
func frames(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = frame(i, i%100, 60+i*37%1455)
	}
	return all
}

// tagged puts a VLAN tag into a frame.
func tagged(f []byte, vlan byte) []byte {
	return append(append(bytes.Clone(f[:12]), 0x81, 0, 0, vlan), f[12:]...)
}

func send(t testing.TB, name string, frames ...[]byte) {
	t.Helper()
	s, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: name, Queue: true, RetryTimeout: wait.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet}}, Sections: make([]capture.Section, 1)}
	for _, f := range frames {
		b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: uint32(len(f)), WireLen: uint32(len(f))})
		b.Buf = append(b.Buf, f...)
	}
	if err := s.Send(b, nil); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats(); n.Sent != uint64(len(frames)) {
		t.Fatalf("%+v", n)
	}
}

// taken is everything that a capture has delivered.
type taken struct {
	frames [][]byte
	all    []capture.Frame
	file   bytes.Buffer
}

// take reads until n frames have come, or to the end if n is negative. It returns what
// ended the capture, nil for io.EOF.
func take(t testing.TB, src *Capture, n int) (*taken, error) {
	t.Helper()
	got := &taken{}
	w := pcapfile.NewWriter(&got.file, pcapfile.WriterOptions{})
	watch := time.AfterFunc(wait.Timeout, src.Stop)
	defer watch.Stop()
	for b := (capture.Batch{}); n < 0 || len(got.frames) < n; {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return got, err
		}
		if err := w.Write(&b, nil); err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			got.frames = append(got.frames, bytes.Clone(b.Data(i)))
			got.all = append(got.all, b.Frames[i])
		}
	}
	return got, w.Close()
}

// rest stops the capture when all sent packets have come, and reads the rest.
func rest(t testing.TB, src *Capture) *taken {
	t.Helper()
	lab.Settle()
	src.Stop()
	got, err := take(t, src, -1)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sum adds up the statistics of all queues.
func sum(src *Capture) (s afpacket.Stats) {
	for _, r := range src.Stats() {
		s.Received += r.Received
		s.Dropped += r.Dropped
		s.Freezes += r.Freezes
		s.Delivered += r.Delivered
		s.Truncated += r.Truncated
		s.Outages += r.Outages
	}
	return s
}

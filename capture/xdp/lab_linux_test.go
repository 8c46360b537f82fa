// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// enterLab moves the test's thread into a new network namespace with a pair of interfaces,
// left and right, with a number of queues. It skips the test where capturing is not possible.
func enterLab(t testing.TB, queues string) {
	t.Helper()
	labtest.Enter(t)
	labtest.Pair(t, "left", "right")
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

// remakePair replaces the pair by a pair with the given numbers of queues.
func remakePair(t testing.TB, left, right string) {
	t.Helper()
	labtest.IP(t, "link del left")
	labtest.IP(t, "link add left numrxqueues "+left+" numtxqueues "+left+" type veth peer name right numrxqueues "+right+" numtxqueues "+right)
	labtest.IP(t, "link set left up")
	labtest.IP(t, "link set right up")
	labtest.AwaitLink(t, "left")
	labtest.IP(t, "link set left up") // waits for its queue
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
	if err := s.Send(frametest.NewBatch(capture.LinkEthernet, frames...), nil); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats(); n.Sent != uint64(len(frames)) {
		t.Fatalf("%+v", n)
	}
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

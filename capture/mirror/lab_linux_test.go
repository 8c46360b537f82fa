// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// enter moves the test's thread into a network namespace with nothing but a loopback
// interface.
func enter(t testing.TB) {
	t.Helper()
	labtest.Enter(t)
	labtest.IP(t, "link set lo up")
}

// capturing opens a capture.
func capturing(t testing.TB, c Config, names ...string) *Capture {
	t.Helper()
	for _, name := range names {
		c.Targets = append(c.Targets, target(t, name))
	}
	c.Warn = func(err error) { t.Log(err) }
	m, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// sender sends datagrams to a port of the loopback interface.
func sender(t testing.TB, port int) net.Conn {
	t.Helper()
	conn, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t testing.TB, conn io.Writer, datagram []byte) {
	t.Helper()
	if _, err := conn.Write(datagram); err != nil {
		t.Fatal(err)
	}
}

// vxlan returns a datagram with a frame that has a number.
func vxlan(vni uint32, number, n int) []byte {
	d := append([]byte{8, 0, 0, 0, 0, 0, 0, 0}, frame(n, 0)...)
	binary.BigEndian.PutUint32(d[4:], vni<<8)
	binary.BigEndian.PutUint32(d[8+34:], uint32(number))
	return d
}

// got is a packet that was delivered.
type got struct {
	iface string
	point uint32
	time  int64
	data  string
}

func gotten(b *capture.Batch) (all []got) {
	for i := range b.Frames {
		it := &b.Interfaces[b.Frames[i].Interface]
		all = append(all, got{it.Name, it.CapturePoint, b.Frames[i].Time, string(b.Data(i))})
	}
	return all
}

// readAll reads to the end with workers, when what was sent has come. Nothing more comes.
func readAll(t testing.TB, m *Capture, workers int) (all []got) {
	t.Helper()
	lab.Settle()
	m.Stop()
	if workers == 0 {
		var b capture.Batch
		for {
			if err := m.Next(&b); err == io.EOF {
				return all
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, gotten(&b)...)
		}
	}
	p := pipeline.New(m)
	interfaces := 0
	if err := p.Run(context.Background(), workers, func() pipeline.Task {
		return pipeline.InOrder(func(b *capture.Batch) error {
			if len(b.Interfaces) < interfaces {
				return errors.New("interfaces are gone")
			}
			interfaces = len(b.Interfaces)
			all = append(all, gotten(b)...)
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// checkStats checks the counts after packets to the first target and a single packet to the second.
func checkStats(t *testing.T, m *Capture, packets uint64) {
	t.Helper()
	for i, s := range m.Stats() {
		want := packets
		if i == 1 {
			want = 1
		}
		received, delivered, dropped := uint64(0), uint64(0), uint64(0)
		for _, one := range s.Sockets {
			received, delivered, dropped = received+one.Received, delivered+one.Delivered, dropped+one.Dropped
		}
		if received != want || delivered != want || dropped != 0 || s.Control != 0 || s.Unwanted != 0 || s.Malformed["header"] != 0 {
			t.Errorf("%+v", s)
		}
	}
}

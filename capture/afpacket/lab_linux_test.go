// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"encoding/binary"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// enterLab moves the test's thread into a new network namespace with a pair of
// interfaces, left and right: what goes into either comes out of the other.
func enterLab(t testing.TB) {
	t.Helper()
	labtest.Enter(t)
	labtest.Pair(t, "left", "right")
}

// bothPlaces runs a test with packets that are copied, and with packets in place.
func bothPlaces(t *testing.T, test func(t *testing.T, inPlace bool)) {
	t.Run("copied", func(t *testing.T) { test(t, false) })
	t.Run("in place", func(t *testing.T) { test(t, true) })
}

func open(t testing.TB, c Config) *Capture {
	t.Helper()
	if c.RingBytes == 0 {
		c.RingBytes = 8 << 20
	}
	if c.BlockBytes == 0 {
		// Tests read late, and each timeout uses up a ring block.
		c.BlockBytes = 1 << 15
	}
	needFilters(t, &c)
	src, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// openSender sends so that captures see it at both ends.
func openSender(t testing.TB, name string) *Sender {
	t.Helper()
	s, err := OpenSender(SenderConfig{Interface: name, Queue: true, RetryTimeout: wait.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// testType is an ethertype for experiments, which no other traffic in a namespace has.
const testType = 0x88B5

// numbered returns a frame of n bytes that contains a number.
func numbered(number, n int) []byte {
	f := make([]byte, n)
	copy(f, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01")
	binary.BigEndian.PutUint16(f[12:], testType)
	binary.BigEndian.PutUint32(f[14:], uint32(number))
	for i := 18; i < n; i++ {
		f[i] = byte(i*number>>3 + number)
	}
	return f
}

func send(t testing.TB, s *Sender, frames ...[]byte) {
	t.Helper()
	const most = 1 << 12
	for len(frames) > 0 {
		n := min(len(frames), most)
		if err := s.Send(frametest.NewBatch(capture.LinkEthernet, frames[:n]...), nil); err != nil {
			t.Fatal(err)
		}
		frames = frames[n:]
	}
}

// take reads until n packets have come, or to the end if n is negative.
func take(t testing.TB, src *Capture, n int) *labtest.Taken {
	t.Helper()
	return labtest.Take(t, src, n, func(b *capture.Batch) { checkInPlace(t, src, b) })
}

// rest stops the capture when all sent packets have come, and reads the rest.
func rest(t testing.TB, src *Capture) *labtest.Taken {
	t.Helper()
	return labtest.Rest(t, src, func(b *capture.Batch) { checkInPlace(t, src, b) })
}

// checkInPlace checks that packets of a capture in place lie in the ring itself, without
// records.
func checkInPlace(t testing.TB, src *Capture, b *capture.Batch) {
	t.Helper()
	if !src.conf.InPlace || len(b.Frames) == 0 {
		return
	}
	there := slices.ContainsFunc(src.rings, func(r *ring) bool { return r.mapping != nil && &b.Buf[0] == &r.mapping.memory[0] })
	if !there || b.Frames[0].RecordLen != 0 {
		t.Fatalf("in a ring: %v; %+v", there, b.Frames[0])
	}
}

// sum adds up the statistics of all rings.
func sum(src *Capture) (s Stats) {
	for _, r := range src.Stats() {
		s.Received += r.Received
		s.Dropped += r.Dropped
		s.Freezes += r.Freezes
		s.Delivered += r.Delivered
		s.Truncated += r.Truncated
		s.Coalesced += r.Coalesced
		s.ChecksumOffloaded += r.ChecksumOffloaded
		s.Tagged += r.Tagged
		s.Outages += r.Outages
	}
	return s
}

// On some kernels, loading a program hangs forever, and the process that asked for it
// cannot be killed. So a separate process tries it first, and is left behind if it hangs.

const probe = "FLOWDEDUP_TEST_PROBE_FILTERS"

func TestMain(m *testing.M) {
	if os.Getenv(probe) == "" {
		os.Exit(m.Run())
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = attachFilter(fd, rejectAll)
	}
	if err != nil {
		os.Exit(1)
	}
}

// filtersLoad reports whether the kernel loads a filter.
var filtersLoad = sync.OnceValue(func() bool {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), probe+"=1")
	if err := c.Start(); err != nil {
		return false
	}
	loaded := make(chan bool, 1)
	go func() { loaded <- c.Wait() == nil }()
	select {
	case ok := <-loaded:
		return ok
	case <-time.After(10 * time.Second):
		return false
	}
})

// possible reports whether this kernel can make a capture of c, including its filter.
func possible(c *Config) bool {
	wants := c.Filters != nil || c.SnapLen > 0 || c.Rings > 1 || slices.Contains(c.Interfaces, Any)
	return !wants || filtersLoad()
}

// needFilters skips a test whose capture is not possible.
func needFilters(t testing.TB, c *Config) {
	t.Helper()
	if !possible(c) {
		t.Skip("the kernel loads no filters")
	}
}

// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// TestSendXDP sends frames of all lengths, of which the other end of the pair drops some, through
// either socket. All other frames arrive once and in order, and counts are exact.
func TestSendXDP(t *testing.T) {
	defer func() { newXDPSocket = unix.Socket }()
	const mtu, tag = 4000, 4
	for _, otherMTU := range []int{1500, mtu} {
		for _, way := range []string{"AF_XDP", "packet socket"} {
			t.Run(fmt.Sprint(way, otherMTU), func(t *testing.T) {
				newXDPSocket = unix.Socket
				if way != "AF_XDP" {
					newXDPSocket = func(int, int, int) (int, error) { return -1, unix.EPERM }
				}
				enterLab(t)
				labtest.IP(t, fmt.Sprint("link set left mtu ", mtu))
				labtest.IP(t, fmt.Sprint("link set right mtu ", otherMTU))
				src := open(t, Config{Interfaces: []string{"right"}, RingBytes: 64 << 20})
				s, err := OpenSender(SenderConfig{Interface: "left", RetryTimeout: time.Microsecond})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if way == "AF_XDP" && s.xdp.fd < 0 {
					t.Skip("no AF_XDP")
				}
				random := rand.New(rand.NewPCG(1, 2))
				var want [][]byte
				var counts SenderStats
				for range 100 {
					time.Sleep(2 * time.Millisecond) // before Linux 6.4 the other end's queue of 1,000 may wait for a thread
					var frames [][]byte
					for range 1 + random.IntN(200) {
						n := 60 + random.IntN(otherMTU/3)
						if random.IntN(100) == 0 {
							n = 1000 + random.IntN(mtu)
						}
						f := numbered(random.Int(), n)
						frames = append(frames, f)
						switch {
						case n > mtu+etherLen:
							counts.TooLong++
						case n > otherMTU+etherLen+tag:
							counts.Refused++
						default:
							want = append(want, f)
							counts.Sent++
							counts.Bytes += uint64(n)
						}
					}
					if err := s.Send(frametest.NewBatch(capture.LinkEthernet, frames...), nil); err != nil {
						t.Fatal(err)
					}
				}
				if withdrawn := s.xdp.invalid > 0; withdrawn != (way == "AF_XDP" && otherMTU < mtu) || (s.xdp.fd < 0) != (way != "AF_XDP") {
					t.Errorf("socket %d, %d descriptors withdrawn", s.xdp.fd, s.xdp.invalid)
				}
				capturetest.CompareFrames(t, rest(t, src).Data, want)
				n := s.Stats()
				n.Retries = 0
				if n != counts {
					t.Errorf("%+v, want %+v", n, counts)
				}
			})
		}
	}
}

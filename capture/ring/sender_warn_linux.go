package ring

import (
	"fmt"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
)

// skip counts a frame that is not sent, and tells why, of the first one.
func (s *Sender) skip(count *atomic.Uint64, why func() error) {
	if count.Add(1) == 1 && s.conf.Warn != nil {
		s.conf.Warn(why())
	}
}

func (s *Sender) truncatedError(f *capture.Frame) error {
	return fmt.Errorf("%s: %w: one of %d bytes, of which %d were captured", s.conf.Interface, ErrFrameTruncated, f.WireLen, f.CapLen)
}

func (s *Sender) refusedError() error {
	return fmt.Errorf("%s: %w: it is slower than what comes, or nothing is at its other end", s.conf.Interface, ErrFrameRefused)
}

// longestMTU is what interfaces can mostly be set to. A frame that needs more was put
// together by the host.
const longestMTU = 9000

func (s *Sender) tooLongError(length int) error {
	name := s.conf.Interface
	err := fmt.Errorf("%s: %w: one of %d bytes", name, ErrFrameTooLong, length)
	if d, failed := lookUp(name); failed == nil {
		err = fmt.Errorf("%w, and its MTU is %d", err, d.mtu)
	}
	need, merged := length-etherLen, "ethtool -K IFACE gro off lro off for each interface that is captured from"
	if need > longestMTU {
		return fmt.Errorf("%w: receive offload has merged several: %s", err, merged)
	}
	return fmt.Errorf("%w: ip link set %s mtu %d; if receive offload has merged several, %s", err, name, need, merged)
}

// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

const (
	// sendBatch is how many frames one system call passes to the kernel. With 64, the call
	// itself costs under a hundredth of the frames' cost.
	sendBatch = 64
	// sendBuffer limits the bytes of frames in flight; net.core.wmem_max may limit them
	// further.
	sendBuffer = 4 << 20
	// retryEvery is the pause before a full queue is tried again.
	retryEvery = 50 * time.Microsecond
)

// message is a struct mmsghdr of sendmmsg(2).
type message struct {
	header unix.Msghdr
	_      uint32 // bytes sent; always all
}

// Sender sends Ethernet frames out of an interface: through an AF_XDP socket where that is a veth,
// and otherwise with sendmmsg(2), which takes frames of any length. Between them, a TPACKET_V2 ring
// takes 0.9 of the processor time of sendmmsg, and copies frames twice on veth.
//
// Packets that receive offload has merged are too long to be sent, and checksums that
// were left to the network card stay empty. Switch off gro where frames are captured, and
// tx where they come from (ethtool -K IFACE gro off). One goroutine at a time may call
// the methods; any may call Stats.
type Sender struct {
	fd       int
	xdp      xdpSender
	conf     SenderConfig
	others   []*Sender // of Avoid
	messages [sendBatch]message
	iovecs   [sendBatch]unix.Iovec
	queued   int
	stalled  bool // the queue refused the last frame until RetryTimeout
	outage   outage

	sent, bytes, truncated, tooLong, refused, notEthernet, lost, retries atomic.Uint64
}

// OpenSender opens an interface to send to. The error is ErrNotPermitted without CAP_NET_RAW,
// ErrLinkType if the interface is not Ethernet, and without SenderConfig.Wait ErrNoInterface or
// ErrDown.
func OpenSender(conf SenderConfig) (*Sender, error) {
	if _, err := sockets.Expect(conf.Interface, conf.Wait); err != nil {
		return nil, err
	}
	conf.RetryTimeout = cmp.Or(max(conf.RetryTimeout, 0), defaultRetryTimeout)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, noProtocol)
	if err != nil {
		return nil, kernelError(conf.Interface, "socket", err)
	}
	s := &Sender{fd: fd, xdp: xdpSender{fd: -1}, conf: conf, outage: outage{unbound: true}}
	if err := s.prepare(); err != nil {
		_ = unix.Close(fd) // the first error is reported
		return nil, err
	}
	for i := range s.messages {
		s.messages[i].header.Iov = &s.iovecs[i]
		s.messages[i].header.SetIovlen(1)
	}
	return s, nil
}

// prepare sets up a new socket for OpenSender.
func (s *Sender) prepare() error {
	if !s.conf.Queue {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
			return kernelError(s.conf.Interface, "PACKET_QDISC_BYPASS", err)
		}
	}
	if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer); err != nil {
		return kernelError(s.conf.Interface, "SO_SNDBUF", err)
	}
	if s.reconnect() || s.conf.Wait && !errors.Is(s.outage.reason, ErrLinkType) {
		return nil
	}
	return s.outage.reason
}

// Send sends, in order, each frame i of b whose bit in drop (bit i%64 of word i/64) is 0;
// a nil drop sends all. It counts and skips frames that cannot be sent. It waits for a
// full queue, at most RetryTimeout each time. It keeps no reference to b and drop.
//
// An error says why the interface cannot be sent to, and wraps ErrDown or ErrNoInterface.
// Send returns it again, also for batches without a frame to send, until a frame was
// sent: nil after an error means that the interface works again. Until then frames are
// lost and counted, and Send looks at intervals that grow to a tenth of a second for an interface of
// that name that is up, else for the renamed interface that it sent to. Frames that are not Ethernet
// are lost too; the error then wraps ErrLinkType.
func (s *Sender) Send(b *capture.Batch, drop []uint64) error {
	var foreign error
	for i := range b.Frames {
		if drop != nil && drop[i/64]>>(i%64)&1 != 0 {
			continue
		}
		f := &b.Frames[i]
		it := &b.Interfaces[f.Interface]
		link := it.LinkType
		switch {
		case link != capture.LinkEthernet && it.Derived:
			s.skip(&s.notEthernet, func() error {
				return fmt.Errorf("%s: %w: one of %s", s.conf.Interface, ErrFrameLink, it.Name)
			})
		case link != capture.LinkEthernet:
			s.lost.Add(1)
			foreign = fmt.Errorf("%s: %w: %v", s.conf.Interface, ErrLinkType, link)
		case f.CapLen < f.WireLen || f.CapLen < etherLen: // the kernel wants a whole header
			s.skip(&s.truncated, func() error { return s.truncatedError(f) })
		default:
			s.iovecs[s.queued].Base = &b.Buf[f.Data]
			s.iovecs[s.queued].SetLen(int(f.CapLen))
			if s.queued++; s.queued == sendBatch {
				s.flush()
			}
		}
	}
	s.flush()
	if foreign != nil {
		s.outage.reason = foreign
	}
	return s.outage.reason
}

// flush sends the queued frames, and drops the references to their batch.
func (s *Sender) flush() {
	for from := 0; from < s.queued; {
		if !s.reconnect() {
			s.lost.Add(uint64(s.queued - from))
			break
		}
		n, err := s.offer(from)
		from += n
		switch err {
		case nil:
			s.stalled, s.outage = false, outage{}
		case unix.EAGAIN, unix.ENOBUFS, unix.EINTR:
			s.skip(&s.refused, s.refusedError)
			from++
		case unix.EMSGSIZE:
			length := int(s.iovecs[from].Len)
			s.skip(&s.tooLong, func() error { return s.tooLongError(length) })
			from++
		default:
			s.outage.begin(kernelError(s.conf.Interface, "sendmmsg", err))
		}
	}
	clear(s.iovecs[:])
	s.queued = 0
}

// offer sends queued frames from number from on, and returns how many the kernel took. An
// error is about frame number from: it does not fit, or RetryTimeout has passed.
func (s *Sender) offer(from int) (int, error) {
	if !s.stalled {
		if n := s.xdp.send(s.iovecs[from:s.queued]); n > 0 {
			s.count(from, n)
			return n, nil
		}
	}
	var giveUp time.Time
	for {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.messages[from])),
			uintptr(s.queued-from), unix.MSG_DONTWAIT, 0, 0)
		if errno == 0 {
			s.count(from, int(n))
			return int(n), nil
		}
		if errno != unix.EAGAIN && errno != unix.ENOBUFS && errno != unix.EINTR {
			return 0, errno
		}
		now := time.Now()
		if giveUp.IsZero() {
			giveUp = now.Add(s.conf.RetryTimeout)
		}
		if s.stalled || now.After(giveUp) {
			s.stalled = true
			return 0, errno
		}
		s.retries.Add(1)
		s.pause(errno)
	}
}

// pause waits for room: in the socket's buffer, which poll reports, or in the queue of
// the device, which nothing reports.
func (s *Sender) pause(errno unix.Errno) {
	if errno == unix.EAGAIN {
		const atMost = 1 // ms
		// The result does not matter: the frame is offered again.
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}, atMost)
		return
	}
	time.Sleep(retryEvery)
}

func (s *Sender) count(from, n int) {
	bytes := uint64(0)
	for i := from; i < from+n; i++ {
		bytes += uint64(s.iovecs[i].Len)
	}
	s.sent.Add(uint64(n))
	s.bytes.Add(bytes)
}

// Stats returns the counts so far. Any goroutine may call it.
func (s *Sender) Stats() SenderStats {
	return SenderStats{
		Sent: s.sent.Load(), Bytes: s.bytes.Load(),
		Truncated: s.truncated.Load(), TooLong: s.tooLong.Load(), Refused: s.refused.Load(), NotEthernet: s.notEthernet.Load(), Lost: s.lost.Load(),
		Retries: s.retries.Load(),
	}
}

// Close closes the socket. The kernel still sends the frames that it has taken.
func (s *Sender) Close() error {
	if s.fd < 0 {
		return nil
	}
	s.xdp.close()
	err := os.NewSyscallError("close", unix.Close(s.fd))
	s.fd = -1
	return err
}

// The bounds of the pause before an unreachable interface is looked up again. It is short
// at first, since an interface that is being recreated is back soon.
const (
	firstRetry = 20 * time.Millisecond
	mostRetry  = 100 * time.Millisecond
)

// outage says why an interface cannot be sent to. The zero value means that it can.
type outage struct {
	reason  error // nil without an outage; cleared once a frame was sent
	unbound bool  // the socket is bound to no interface that works
	next    time.Time
	wait    time.Duration // pause after the next try
}

// begin records that a frame could not be sent.
func (o *outage) begin(reason error) { o.reason, o.unbound = reason, true }

// due reports whether it is time to look the interface up, and sets the time of the next try.
func (o *outage) due(now time.Time) bool {
	if now.Before(o.next) {
		return false
	}
	o.wait = min(max(2*o.wait, firstRetry), mostRetry)
	o.next = now.Add(o.wait)
	return true
}

// reconnect reports whether there is, as far as is known, an interface to send to. It binds the
// socket to the interface that sockets.Current chooses. It does not open a new socket: binding needs
// no capability, so it works in a process that has dropped its own.
func (s *Sender) reconnect() bool {
	o := &s.outage
	if !o.unbound {
		return true
	}
	if !o.due(time.Now()) {
		return false
	}
	named, err := lookUp(s.conf.Interface)
	d, err := sockets.Current(named, err, s.fd, s.otherSockets())
	if err == nil {
		err = checkSendable(&d)
	}
	if err == nil {
		err = bind(s.fd, &d, noProtocol)
	}
	if err != nil {
		o.reason = err
		return false
	}
	o.unbound = false
	if !s.conf.Queue {
		s.xdp.reopen(&d)
	}
	return true
}

// Avoid keeps s from sending, after an outage, to the interface of any of these senders: interfaces
// may have swapped names. senders may contain s. One goroutine at a time may call the methods of all
// senders.
func (s *Sender) Avoid(senders []*Sender) { s.others = senders }

func (s *Sender) otherSockets() (fds []int) {
	for _, other := range s.others {
		if other != s {
			fds = append(fds, other.fd)
		}
	}
	return fds
}

// Reachable reports whether there is, as far as is known, an interface to send to. It looks it up
// at the intervals of Send.
func (s *Sender) Reachable() bool { return s.reconnect() }

// checkSendable returns why frames cannot be sent to an interface.
func checkSendable(d *sockets.Device) error {
	switch {
	case d.Link != capture.LinkEthernet:
		return fmt.Errorf("%s: %w: frames are sent to Ethernet only", d.Name, ErrLinkType)
	case !d.Up:
		return fmt.Errorf("%s: %w: ip link set %s up", d.Name, ErrDown, d.Name)
	}
	return nil
}

// skip counts a frame that is not sent, and warns about the first frame of each reason.
func (s *Sender) skip(count *atomic.Uint64, why func() error) {
	if count.Add(1) == 1 && s.conf.Warn != nil {
		s.conf.Warn(why())
	}
}

func (s *Sender) truncatedError(f *capture.Frame) error {
	err := fmt.Errorf("%s: %w: one of %d bytes, of which %d were captured", s.conf.Interface, ErrFrameTruncated, f.WireLen, f.CapLen)
	if f.WireLen > etherLen+longestMTU {
		return fmt.Errorf("%w: receive offload has merged several: %s", err, NotMerging)
	}
	return err
}

func (s *Sender) refusedError() error {
	return fmt.Errorf("%s: %w: it is slower than what comes, or nothing is at its other end", s.conf.Interface, ErrFrameRefused)
}

// longestMTU is the largest MTU that most interfaces support. A longer frame was merged
// by the host, which NotMerging changes.
const longestMTU = 9000

func (s *Sender) tooLongError(length int) error {
	name := s.conf.Interface
	err := fmt.Errorf("%s: %w: one of %d bytes", name, ErrFrameTooLong, length)
	if d, failed := lookUp(name); failed == nil {
		err = fmt.Errorf("%w, and its MTU is %d", err, d.MTU)
	}
	need := length - etherLen
	if need > longestMTU {
		return fmt.Errorf("%w: receive offload has merged several: %s", err, NotMerging)
	}
	return fmt.Errorf("%w: ip link set %s mtu %d; if receive offload has merged several, %s", err, name, need, NotMerging)
}

// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// Any is the name that stands for all interfaces together, including those that appear
// later.
const Any = "any"

// Defaults of Config. With 64 ring blocks that wait at most 10 ms each, a reader may
// pause for 0.6 s at any packet rate. Ring blocks of 256 KiB would make small packets
// cost a third more time.
const (
	DefaultRingBytes    = 64 << 20
	DefaultBlockBytes   = 1 << 20
	DefaultBlockTimeout = 10 * time.Millisecond
)

// MaxSnapLen is the default and the maximum of Config.SnapLen. It is libpcap's
// MAXIMUM_SNAPLEN: readers of capture files reject longer frames.
const MaxSnapLen = 256 << 10

// NotMerging lets an interface capture packets as they are on the wire. Containers and guests of a host
// hand packets over unsplit, as its own programs do, so receivers change nothing then.
const NotMerging = "ethtool -K IFACE gro off lro off for each interface that is captured from, tso off for each of this host and its guests that sends"

// minSnapLen has room for added headers: at most a cooked header with a VLAN tag.
const minSnapLen = cookedLen + tagLen

// Fanout is how the kernel divides an interface's packets among its rings.
type Fanout uint8

// The supported modes of PACKET_FANOUT. FanoutHash divides by the kernel's flow hash:
// both directions of a connection share a ring, but two copies of a packet may not, if
// only one copy is tagged or tunneled. FanoutCPU divides by the processor that received the packet,
// FanoutQueue by the receive queue of the network card.
const (
	FanoutHash Fanout = iota
	FanoutCPU
	FanoutQueue
)

// ErrConfig is wrapped by errors about a Config with which no interface can be captured.
var ErrConfig = errors.New("wrong settings of the capture")

// Config configures a capture. Only Interfaces is required.
type Config struct {
	// Interfaces names the interfaces to capture from. Any captures from all of them and
	// excludes other names. Its frames have a Linux cooked header of version 2
	// (LINKTYPE_LINUX_SLL2), as have frames of links without a capture format of their own.
	Interfaces []string
	// Rings is the number of rings that share the packets of each interface, divided by
	// Fanout; the default is 1. Packets of a ring stay in order.
	Rings  int
	Fanout Fanout
	// RingBytes is the memory of each ring and BlockBytes the size of each ring block, in
	// bytes; 0 means the default. Blocks are rounded up to whole pages, and rings down to
	// whole blocks, at least two. A frame whose headers and bytes do not fit a block is
	// truncated.
	RingBytes, BlockBytes int
	// InPlace delivers packets where the kernel has put them, which saves one copy of
	// each. Batches then have no records (capture.Frame.RecordLen is 0), and hold ring blocks
	// until they are given back, see capture.Lender. Leave it unset where batches are kept for long:
	// the ring would run full.
	InPlace bool
	// BlockTimeout is how long a ring block that is not full may wait for more packets.
	// It is rounded up to milliseconds and is at most a minute; 0 means the default. It
	// bounds the delay of packets at low rates, and the disorder between rings. Each
	// timeout uses up a block: a short timeout, or a reader that pauses for long, needs
	// many small blocks.
	BlockTimeout time.Duration
	// SnapLen is how many bytes of a frame are kept, from 24 to MaxSnapLen; 0 means
	// MaxSnapLen.
	SnapLen int
	// Promiscuous makes the interfaces receive frames to other hosts too. The kernel ends
	// this mode with the capture, even if the process is killed.
	Promiscuous bool
	// IgnoreOutgoing leaves out packets that the host itself sends. A loopback interface shows
	// every frame twice, as sent and as received; its sent frames are always left out.
	IgnoreOutgoing bool
	// HardwareTime prefers timestamps of the network card, where it makes any (see
	// ethtool -T). The card's clock must be synchronized with the host's, and timestamps
	// be switched on (hwstamp_ctl -r 1).
	HardwareTime bool
	// Filters holds classic BPF programs, as tcpdump -ddd prints them, by the link types
	// (LinkTypeOf) of all interfaces. They are written for the frames as delivered. Nil takes
	// all frames. The kernel applies them from the first packet on. There, a VLAN tag is
	// not part of the frame: the compiler must test for it as libpcap does in live
	// captures.
	Filters map[capture.LinkType][]bpf.RawInstruction
	// Wait continues the capture while an interface is down, removed or not there yet, and
	// captures from it once it is up: from the interface of that name, else from the renamed
	// interface. An interface that was not there has to be Ethernet. Without Wait, a capture ends
	// when its interface goes.
	Wait bool
	// StartPaused lets no packets in until Capture.Start is called.
	StartPaused bool
	// Idle is how long Next waits for packets before it returns without any; 0 means
	// forever.
	Idle time.Duration
	// IdleNow, if not nil, returns Idle anew for each Next.
	IdleNow func() time.Duration
}

// check returns an error that names the field that no capture can have, and wraps ErrConfig.
func (c Config) check() error {
	switch {
	case len(c.Interfaces) == 0:
		return fmt.Errorf("%w: no interface to capture from", ErrConfig)
	case len(c.Interfaces) > 1 && slices.Contains(c.Interfaces, Any):
		return fmt.Errorf("%w: %q cannot be captured together with other interfaces", ErrConfig, Any)
	case repeated(c.Interfaces) != "":
		return fmt.Errorf("%w: interface %s is named twice", ErrConfig, repeated(c.Interfaces))
	case c.Rings < 0 || c.Rings > 256:
		return fmt.Errorf("%w: %d rings for an interface: at most 256", ErrConfig, c.Rings)
	case c.SnapLen != 0 && c.SnapLen < minSnapLen:
		return fmt.Errorf("%w: snap length %d: at least %d", ErrConfig, c.SnapLen, minSnapLen)
	case c.Fanout > FanoutQueue:
		return fmt.Errorf("%w: unknown fanout mode %d", ErrConfig, c.Fanout)
	case c.RingBytes < 0 || c.BlockBytes < 0 || c.BlockTimeout < 0 || c.Idle < 0:
		return fmt.Errorf("%w: ring of %d bytes in blocks of %d, kept for %v, without packets for %v: must not be negative", ErrConfig, c.RingBytes, c.BlockBytes, c.BlockTimeout, c.Idle)
	case c.RingBytes > maxRingBytes || c.BlockBytes > maxBlockBytes:
		return fmt.Errorf("%w: ring of %d bytes in blocks of %d: at most %d and %d", ErrConfig, c.RingBytes, c.BlockBytes, maxRingBytes, maxBlockBytes)
	}
	return nil
}

// withDefaults returns c with every number in its range, or the error of check.
func (c Config) withDefaults() (Config, error) {
	if err := c.check(); err != nil {
		return c, err
	}
	c.Rings = max(c.Rings, 1)
	c.BlockBytes = cmp.Or(c.BlockBytes, DefaultBlockBytes)
	page := os.Getpagesize()
	c.BlockBytes = (c.BlockBytes + page - 1) / page * page
	c.RingBytes = max(cmp.Or(c.RingBytes, DefaultRingBytes)/c.BlockBytes, 2) * c.BlockBytes
	c.BlockTimeout = min(cmp.Or(c.BlockTimeout, DefaultBlockTimeout), maxBlockTimeout)
	c.SnapLen = min(cmp.Or(c.SnapLen, MaxSnapLen), MaxSnapLen)
	return c, nil
}

// maxBlockTimeout fits the kernel's 16 bits of milliseconds.
const maxBlockTimeout = time.Minute

// The kernel counts both in 32 bits. Offsets into a batch, which holds more than a ring
// block, have 32 bits too.
const (
	maxRingBytes  = 1<<31 - 1
	maxBlockBytes = 1 << 29
)

// repeated returns the first name that occurs twice, or "".
func repeated(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// SenderConfig says where and how a Sender sends. Only Interface is required.
type SenderConfig struct {
	Interface string
	// Wait lets OpenSender succeed while the interface is down or not there: frames are lost until
	// it is up.
	Wait bool
	// Queue sends through the queueing discipline of the interface: frames take turns
	// with other traffic, and tc and local captures see them. Without it, frames go
	// directly to the driver.
	Queue bool
	// RetryTimeout is how long the Sender retries a frame that a full queue refuses; 0
	// means 100 ms.
	RetryTimeout time.Duration
	// Warn, if not nil, receives the first frame skipped for each reason, as an error
	// that wraps ErrFrameTruncated, ErrFrameTooLong, ErrFrameRefused or ErrFrameLink. Send
	// calls it.
	Warn func(error)
}

// defaultRetryTimeout is long enough for a queue to drain, and short compared with the
// time for which a default ring can buffer.
const defaultRetryTimeout = 100 * time.Millisecond

// Stats counts the packets and events of one ring since the capture began. Received, Dropped
// and Freezes are the kernel's counters and are always current; the others are as of the last
// Next.
type Stats struct {
	Interface string // the name it was opened under
	Ring      int    // its number among the rings of the interface, from 0

	Received uint64 // packets that passed the filter, including dropped packets
	Dropped  uint64 // packets lost because the ring was full, or for the reasons below
	Freezes  uint64 // how often the ring became full
	TooLong  uint64 // of those dropped, longer than AF_XDP has memory for
	// ToHost counts the dropped packets of AF_XDP that went to the host: the interface had more
	// receive queues or a larger MTU, until sockets were opened for these.
	ToHost uint64

	Delivered         uint64 // packets that Next returned
	Truncated         uint64 // of them, cut to SnapLen or to the room in a ring block
	Coalesced         uint64 // of them, merged TCP segments (GRO, GSO), where the kernel reports it
	ChecksumOffloaded uint64 // of them, with a checksum that the network card was to fill in
	Tagged            uint64 // of them, with a restored VLAN tag
	Hardware          uint64 // of them, with a timestamp of the network card
	Outages           uint64 // how often the interface went down or away
	Down              bool   // the interface is down or away now
	Away              string // why, if it is
	// Card has what the interface itself lost, or its network card, as of the last second. Only
	// ring 0 of an interface has it.
	Card CardCounts
}

// Full returns how many of the dropped packets were lost because the ring was full.
func (s *Stats) Full() uint64 { return s.Dropped - s.TooLong - s.ToHost }

// SetState takes what the interface of the ring went through.
func (s *Stats) SetState(outages uint64, away string, card CardCounts) {
	s.Outages, s.Down, s.Away = outages, away != "", away
	if s.Ring == 0 {
		s.Card = card
	}
}

// CardCounts has how much the counters of an interface, and of its driver, grew since the capture
// began.
type CardCounts = sockets.CardCounts

// SenderStats counts the frames of a Sender.
type SenderStats struct {
	Sent  uint64 `json:"sent"`  // frames that the kernel took
	Bytes uint64 `json:"bytes"` // of them
	// Frames that were not sent: truncated, longer than the interface can carry,
	// refused by a full queue until RetryTimeout, and lost while the interface was down
	// or away. NotEthernet are packets that a tunnel carried without Ethernet, and that
	// were taken out of it.
	Truncated   uint64 `json:"truncated"`
	TooLong     uint64 `json:"too_long"`
	Refused     uint64 `json:"refused"`
	NotEthernet uint64 `json:"not_ethernet,omitempty"`
	Lost        uint64 `json:"lost"`
	// Retries counts the pauses for a full queue to drain.
	Retries uint64 `json:"retries"`
}

// Skipped returns how many frames could not be sent while the interface was there.
func (s *SenderStats) Skipped() uint64 { return s.Truncated + s.TooLong + s.Refused + s.NotEthernet }

// Why a capture cannot begin, or ends; test with errors.Is.
var (
	ErrNoInterface  = sockets.ErrNoInterface
	ErrDown         = sockets.ErrDown
	ErrRemoved      = sockets.ErrRemoved
	ErrLinkChanged  = sockets.ErrLinkChanged
	ErrNotPermitted = errors.New("not permitted: needs CAP_NET_RAW (run as root, or setcap cap_net_raw+ep on the program)")
	ErrLinkType     = errors.New("the interface cannot carry frames of this link type")
)

// Why a [Sender] skips frames; test with errors.Is.
var (
	ErrFrameTruncated = errors.New("truncated frames are not sent")
	ErrFrameTooLong   = errors.New("frames longer than the interface can carry are not sent")
	ErrFrameLink      = errors.New("packets that a tunnel carried without Ethernet are not sent")
	ErrFrameRefused   = errors.New("frames that the interface's queue keeps refusing are not sent")
)

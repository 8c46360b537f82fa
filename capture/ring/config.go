package ring

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// Any is the name that stands for all interfaces together, those that appear
// later among them.
const Any = "any"

// Defaults of Config. A ring of 64 blocks whose blocks wait at most 10 ms rides
// out a reader that pauses for 0.6 s, however few packets come. Blocks of 256 KiB
// would cost a third more time for small packets.
const (
	DefaultRingBytes    = 64 << 20
	DefaultBlockBytes   = 1 << 20
	DefaultBlockTimeout = 10 * time.Millisecond
)

// MaxSnapLen is the default and the ceiling of Config.SnapLen: libpcap's
// MAXIMUM_SNAPLEN, above which readers of capture files refuse frames.
const MaxSnapLen = 256 << 10

// minSnapLen keeps what is added to packets, at the most a cooked header with a
// VLAN tag.
const minSnapLen = cookedLen + tagLen

// Fanout is how the kernel divides an interface's packets among its rings.
type Fanout uint8

// The ways of PACKET_FANOUT that are offered. FanoutHash goes by the kernel's
// flow hash: both directions of a connection share a ring, but two copies of one
// packet need not, if one is tagged or tunnelled. FanoutCPU goes by the processor
// that received the packet, FanoutQueue by the network card's receive queue.
const (
	FanoutHash Fanout = iota
	FanoutCPU
	FanoutQueue
)

// Config says what to capture and how. Only Interfaces must be set.
type Config struct {
	// Interfaces names where to capture. Any captures from all of them and
	// cannot be mixed with others; its frames, like those of links that have no
	// capture format of their own, come with a Linux cooked header of version 2
	// (LINKTYPE_LINUX_SLL2).
	Interfaces []string
	// Rings is how many rings share the packets of each interface, by Fanout; 0
	// for one. Packets of one ring stay in order.
	Rings  int
	Fanout Fanout
	// RingBytes is the memory of each ring, and BlockBytes that of its blocks, in
	// bytes; 0 for the defaults. Blocks are rounded up to whole pages, rings down
	// to whole blocks, of which there are at least two. A frame with its headers
	// has to fit a block, else it is cut.
	RingBytes, BlockBytes int
	// InPlace leaves packets where the kernel has put them, which spares a copy of each.
	// Batches have no records then (Frame.RecordLen is 0), and each is valid until the next
	// call of Next or Close: there is but one at a time.
	InPlace bool
	// BlockTimeout is how long a block that is not full may wait for more
	// packets, rounded up to milliseconds and at most a minute; 0 for the default.
	// It bounds the delay of a packet at low rates, and how far packets of different
	// rings come out of order. Each timeout uses up a block, so that a short one, or
	// a reader that pauses for long, wants many small blocks.
	BlockTimeout time.Duration
	// SnapLen is the most bytes kept of a frame, from 24 to MaxSnapLen; 0 for
	// MaxSnapLen.
	SnapLen int
	// Promiscuous asks the interfaces for frames to other hosts too. The kernel
	// ends that with the capture, however it ends.
	Promiscuous bool
	// IgnoreOutgoing leaves out what the host itself sends. Frames on a loopback
	// interface, which every capture sees twice, are always taken once, when they
	// are received.
	IgnoreOutgoing bool
	// HardwareTime prefers the network card's timestamps, where the card makes
	// any: see ethtool -T. Its clock must be kept in step with the host's, and
	// switched on (hwstamp_ctl -r 1).
	HardwareTime bool
	// Filters holds classic BPF programs, as tcpdump -ddd prints them, for the frames
	// as they are delivered: one for the link type of each interface (LinkTypeOf).
	// Nil takes all frames. The kernel runs them before the first packet. A VLAN tag
	// is no part of the frame there: the compiler has to ask for it as libpcap does
	// for a live capture.
	Filters map[capture.LinkType][]bpf.RawInstruction
	// Wait keeps the capture going while an interface is down or removed, and
	// takes it up again when one of its name is back. Else either ends it.
	Wait bool
	// StartPaused lets no packets in before Capture.Start.
	StartPaused bool
	// Idle is how long Next waits for packets before it returns without; 0 for
	// ever.
	Idle time.Duration
}

// withDefaults returns c with every number in its range, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Interfaces) == 0:
		return c, errors.New("no interface to capture from")
	case len(c.Interfaces) > 1 && slices.Contains(c.Interfaces, Any):
		return c, fmt.Errorf("%q cannot be captured together with other interfaces", Any)
	case repeated(c.Interfaces) != "":
		return c, fmt.Errorf("interface %s is named twice", repeated(c.Interfaces))
	case c.Rings < 0 || c.Rings > 256:
		return c, fmt.Errorf("%d rings for an interface: at most 256", c.Rings)
	case c.SnapLen != 0 && c.SnapLen < minSnapLen:
		return c, fmt.Errorf("snap length %d: at least %d", c.SnapLen, minSnapLen)
	case c.Fanout > FanoutQueue:
		return c, fmt.Errorf("fanout %d is not known", c.Fanout)
	case c.RingBytes > maxRingBytes || c.BlockBytes > maxBlockBytes:
		return c, fmt.Errorf("ring of %d bytes in blocks of %d: at most %d and %d", c.RingBytes, c.BlockBytes, maxRingBytes, maxBlockBytes)
	}
	c.Rings = max(c.Rings, 1)
	c.BlockBytes = positive(c.BlockBytes, DefaultBlockBytes)
	page := os.Getpagesize()
	c.BlockBytes = (c.BlockBytes + page - 1) / page * page
	c.RingBytes = max(positive(c.RingBytes, DefaultRingBytes)/c.BlockBytes, 2) * c.BlockBytes
	c.BlockTimeout = min(positive(c.BlockTimeout, DefaultBlockTimeout), maxBlockTimeout)
	c.SnapLen = min(positive(c.SnapLen, MaxSnapLen), MaxSnapLen)
	return c, nil
}

// maxBlockTimeout is about the most that the kernel's 16 bits of milliseconds hold.
const maxBlockTimeout = time.Minute

// The kernel counts both in 32 bits; offsets into a batch, which holds a block
// and more, are below 1<<32 too.
const (
	maxRingBytes  = 1<<31 - 1
	maxBlockBytes = 1 << 29
)

func positive[T int | time.Duration](n, otherwise T) T {
	if n <= 0 {
		return otherwise
	}
	return n
}

// repeated returns a name that is there twice, or "".
func repeated(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// SenderConfig says where a Sender sends to. Only Interface must be set.
type SenderConfig struct {
	Interface string
	// Queue sends through the interface's queueing discipline, where other
	// traffic has its turn too, and where tc and captures on this host see the
	// frames, instead of handing them to its driver directly.
	Queue bool
	// RetryTimeout is how long a frame that a full queue refuses is offered again
	// before it is given up; 0 for DefaultRetryTimeout.
	RetryTimeout time.Duration
	// Warn is told of the first frame that is passed over for each reason: an error
	// that wraps ErrFrameTruncated, ErrFrameTooLong or ErrFrameRefused. Send calls it. It may
	// be nil.
	Warn func(error)
}

// DefaultRetryTimeout is long for a queue to drain, and short beside what a ring of
// the default size can hold meanwhile.
const DefaultRetryTimeout = 100 * time.Millisecond

// Stats counts what happened at one ring since the capture began. The kernel
// counts Received, Dropped and Freezes; what is read of them is up to date, the
// rest as of the last Next.
type Stats struct {
	Interface string // the name it was opened under
	Ring      int    // from 0, among those of the interface

	Received uint64 // packets that passed the filter, the dropped ones among them
	Dropped  uint64 // packets lost since the ring was full
	Freezes  uint64 // how often the ring became full

	Delivered         uint64 // packets that Next returned
	Truncated         uint64 // of them, longer than SnapLen or a ring block has room for
	Coalesced         uint64 // of them, several TCP segments in one (GRO, GSO; newer kernels say)
	ChecksumOffloaded uint64 // of them, with checksums that the host has left to be filled in
	Tagged            uint64 // of them, with a VLAN tag that was put back
	Hardware          uint64 // of them, with the time of the network card
	Outages           uint64 // how often the interface went down or away, where Config.Wait survived it
	Down              bool   // it is down or away now
}

// SenderStats counts what happened at a Sender.
type SenderStats struct {
	Sent  uint64 `json:"sent"`  // frames that the kernel took
	Bytes uint64 `json:"bytes"` // of them
	// Frames that were not sent: captured in part, longer than the interface can
	// carry, refused again and again by a full or dead queue, and lost while the
	// interface was down or away.
	Truncated uint64 `json:"cut"`
	TooLong   uint64 `json:"too_long"`
	Refused   uint64 `json:"refused"`
	Lost      uint64 `json:"lost"`
	// Retries is how often frames had to wait for the queue to drain.
	Retries uint64 `json:"retries"`
}

// Reasons why a capture cannot begin or ends; test with errors.Is.
var (
	ErrNoInterface  = errors.New("no such interface")
	ErrDown         = errors.New("the interface is down")
	ErrRemoved      = errors.New("the interface was removed")
	ErrLinkChanged  = errors.New("the interface came back with another link type")
	ErrNotPermitted = errors.New("not permitted: needs CAP_NET_RAW (run as root, or setcap cap_net_raw+ep on the program)")
	ErrLinkType     = errors.New("the interface cannot carry frames of this link type")
)

// Reasons why a [Sender] passes frames over; test with errors.Is.
var (
	ErrFrameTruncated = errors.New("frames captured in part are not sent")
	ErrFrameTooLong   = errors.New("frames longer than the interface can carry are not sent")
	ErrFrameRefused   = errors.New("frames that the interface's queue keeps refusing are not sent")
)

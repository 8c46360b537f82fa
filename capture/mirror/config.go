// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// Config configures a capture. Only Targets is required.
type Config struct {
	Targets []Target
	// Sockets is the number of sockets that share the datagrams of a UDP target. The default is 1.
	Sockets int
	// BufferBytes bounds the datagrams that wait in a socket, in bytes of kernel memory; 0
	// means afpacket.DefaultRingBytes. Without CAP_NET_ADMIN net.core.rmem_max bounds it.
	BufferBytes int
	// SnapLen is how many bytes of a packet are kept; 0 means all.
	SnapLen int
	// Delay is how long a socket gathers packets after few were read, so that a steady stream wakes
	// up Next once in that time. It is less by the part of BufferBytes that the kernel denied.
	Delay time.Duration
	// Idle is how long Next waits for packets before it returns without any; 0 means
	// forever.
	Idle time.Duration
	// IdleNow, if not nil, returns Idle anew for each Next.
	IdleNow func() time.Duration
	// Warn gets each deviation from the configuration. It may be nil.
	Warn func(error)
}

// Stats counts the packets and events of a target. Any goroutine may read it at any time.
type Stats struct {
	// Sockets has the counts of each socket: Received are datagrams, Delivered packets.
	Sockets []afpacket.Stats
	// Malformed counts datagrams without a packet, by reason: see Reasons.
	Malformed map[string]uint64
	// Control counts datagrams that are no copies of packets but talk of the tunnel.
	Control uint64
	// Unwanted counts packets with identifiers that the target does not list.
	Unwanted uint64
	// Points is how many capture points there are.
	Points int
}

// Why a datagram has no packet.
const (
	badHeader  = iota // cut short, or not of the encapsulation
	badContent        // an encapsulated protocol that has no link type
	reasons
)

// reasonNames are the keys of Stats.Malformed.
var reasonNames = [reasons]string{"header", "content"}

// Why a capture cannot begin; test with errors.Is.
var (
	ErrNotPermitted = errors.New("not permitted: GRE needs CAP_NET_RAW (run as root, or setcap cap_net_raw+ep on the program)")
	ErrInUse        = errors.New("the port is in use: by another program, or by an interface of the kernel for this tunnel")
)

// withDefaults returns c with every number in its range, or an error that names the invalid
// field.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Targets) == 0:
		return c, errors.New("no target")
	case c.Sockets < 0 || c.Sockets > maxSockets:
		return c, fmt.Errorf("%d sockets for a target: at most %d", c.Sockets, maxSockets)
	case c.SnapLen < 0 || c.BufferBytes < 0:
		return c, fmt.Errorf("snap length %d, buffer of %d bytes: must not be negative", c.SnapLen, c.BufferBytes)
	}
	c.Sockets = max(c.Sockets, 1)
	c.BufferBytes = min(cmp.Or(c.BufferBytes, afpacket.DefaultRingBytes), maxBufferBytes)
	c.SnapLen = cmp.Or(c.SnapLen, afpacket.MaxSnapLen)
	return c, nil
}

const (
	maxSockets     = 256
	maxBufferBytes = 1<<30 - 1 // the kernel doubles it, in 32 bits
)

// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/layout"
)

const (
	ethernetLen = 14
	tagLen      = 4
	ipv4Len     = 20
	ipv6Len     = 40
	tcpLen      = 20
	udpLen      = 8
	serialLen   = 8 // begins a UDP payload and makes its datagram unique
	maxFrame    = maxSize + tagLen

	minFrameV6 = ethernetLen + ipv6Len + tcpLen

	copyVLAN = 100     // of tagged copies
	copyDSCP = 46 << 2 // of re-marked copies: expedited forwarding
	hopLimit = 64
)

// packet holds all that a frame is made from, so a copy can be made again without the
// stored bytes.
type packet struct {
	serial uint64 // of the original: no two originals share it
	number int64  // of the original in the file, from 0
	flow   uint32
	size   uint16
	kind   relation
}

// framer builds frames. Payloads come from a pool of random bytes. Its partial sums turn
// the checksum of a payload into a subtraction.
type framer struct {
	flows *population
	pool  []byte
	sums  []uint32 // sums[i] adds the first i 16-bit words of pool
}

const poolLen = 1 << 16

func newFramer(flows *population, random *rand.PCG) *framer {
	f := &framer{flows: flows, pool: make([]byte, poolLen), sums: make([]uint32, poolLen/2+1)}
	for i := 0; i < poolLen; i += 8 {
		binary.LittleEndian.PutUint64(f.pool[i:], random.Uint64())
	}
	for i := range poolLen / 2 {
		f.sums[i+1] = f.sums[i] + uint32(binary.BigEndian.Uint16(f.pool[2*i:]))
	}
	return f
}

// build writes the frame of p to b, which must hold maxFrame bytes, and
// returns its length and its flow.
func (f *framer) build(b []byte, p packet) (int, flow) {
	fl := f.flows.flow(p.flow)
	putAddresses(b, fl.src, p.kind)
	at := 12
	if p.kind == tagged {
		binary.BigEndian.PutUint32(b[at:], 0x8100<<16|copyVLAN)
		at += tagLen
	}
	size := int(p.size)
	var pseudo uint32
	if fl.v6 {
		size = max(size, minFrameV6)
		pseudo = putIPv6(b[at:], fl, size-ethernetLen-ipv6Len, p)
		at += 2 + ipv6Len
	} else {
		pseudo = putIPv4(b[at:], fl, size-ethernetLen, p)
		at += 2 + ipv4Len
	}
	if p.kind == tagged {
		size += tagLen
	}
	f.putTransport(b[at:size], fl, p.serial, pseudo)
	return size, fl
}

// putAddresses writes link addresses: the sender's and the router's, or for a
// routed copy the router's and the next hop's.
func putAddresses(b []byte, src uint32, kind relation) {
	const router, next = 0x0200_0000_fe01, 0x0200_0000_fe02
	to, from := uint64(router), uint64(0x0200_0100_0000)|uint64(src)
	if kind == routed {
		to, from = next, router
	}
	binary.BigEndian.PutUint64(b, to<<16|from>>32)
	binary.BigEndian.PutUint32(b[8:], uint32(from))
}

// hops returns a frame's hop limit and traffic class.
func (p *packet) hops() (limit, class byte) {
	switch p.kind {
	case routed:
		return hopLimit - 1, 0
	case marked:
		return hopLimit, copyDSCP
	}
	return hopLimit, 0
}

// putIPv4 writes the type and an IPv4 header for a datagram of total bytes,
// and returns the sum of its pseudo header (RFC 9293, section 3.1).
func putIPv4(b []byte, fl flow, total int, p packet) uint32 {
	const network10, network172 = 10 << 24, 172<<24 | 16<<16
	limit, class := p.hops()
	binary.BigEndian.PutUint16(b, 0x0800)
	h := b[2 : 2+ipv4Len]
	binary.BigEndian.PutUint32(h, 0x4500_0000|uint32(class)<<16|uint32(total))
	binary.BigEndian.PutUint32(h[4:], uint32(p.serial)<<16|0x4000)
	binary.BigEndian.PutUint32(h[8:], uint32(limit)<<24|uint32(fl.proto)<<16)
	binary.BigEndian.PutUint32(h[12:], network10+fl.src)
	binary.BigEndian.PutUint32(h[16:], network172+fl.dst)
	addresses := sumWords(h[12:20])
	binary.BigEndian.PutUint16(h[10:], ^fold(sumWords(h[:12])+addresses))
	return addresses + uint32(fl.proto) + uint32(total-ipv4Len)
}

// putIPv6 writes the type and an IPv6 header for length bytes, and returns the
// sum of its pseudo header (RFC 8200, section 8.1).
func putIPv6(b []byte, fl flow, length int, p packet) uint32 {
	const network = 0x2001_0db8 << 32 // 2001:db8::/32, for documentation
	limit, class := p.hops()
	binary.BigEndian.PutUint16(b, 0x86DD)
	h := b[2 : 2+ipv6Len]
	binary.BigEndian.PutUint32(h, 0x6000_0000|uint32(class)<<20)
	binary.BigEndian.PutUint32(h[4:], uint32(length)<<16|uint32(fl.proto)<<8|uint32(limit))
	binary.BigEndian.PutUint64(h[8:], network|1)
	binary.BigEndian.PutUint64(h[16:], uint64(fl.src))
	binary.BigEndian.PutUint64(h[24:], network|2)
	binary.BigEndian.PutUint64(h[32:], uint64(fl.dst))
	return sumWords(h[8:40]) + uint32(fl.proto) + uint32(length)
}

// putTransport fills b with a TCP or UDP header and a payload. The serial goes
// into TCP's sequence and acknowledgement numbers, or into UDP's payload.
func (f *framer) putTransport(b []byte, fl flow, serial uint64, pseudo uint32) {
	binary.BigEndian.PutUint16(b, fl.sport)
	binary.BigEndian.PutUint16(b[2:], fl.dport)
	header, sumAt := tcpLen, 16
	if fl.proto == protoUDP {
		header, sumAt = udpLen+serialLen, 6
		binary.BigEndian.PutUint32(b[4:], uint32(len(b))<<16)
		binary.BigEndian.PutUint64(b[8:], serial)
	} else {
		binary.BigEndian.PutUint64(b[4:], serial)
		binary.BigEndian.PutUint64(b[12:], 0x5010_FFFF<<32) // ACK, window 65535
	}
	sum := pseudo + sumWords(b[:header]) + f.putPayload(b[header:], serial)
	checksum := ^fold(sum)
	if checksum == 0 && fl.proto == protoUDP {
		checksum = 0xFFFF // 0 would mean that there is none (RFC 768)
	}
	binary.BigEndian.PutUint16(b[sumAt:], checksum)
}

// putPayload copies a part of the pool and returns its sum.
func (f *framer) putPayload(b []byte, serial uint64) uint32 {
	word := int(mix(serial) % (poolLen/2 - maxSize))
	copy(b, f.pool[2*word:])
	words := len(b) / 2
	sum := f.sums[word+words] - f.sums[word]
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	return sum
}

// sumWords adds the 16-bit words of b, whose length is a multiple of 4.
func sumWords(b []byte) uint32 {
	var sum uint64
	for ; len(b) >= 4; b = b[4:] {
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	return uint32(sum>>32) + uint32(fold(uint32(sum>>16&0xFFFF)+uint32(sum&0xFFFF)))
}

// fold reduces a sum to the 16-bit ones' complement sum (RFC 1071).
func fold(sum uint32) uint16 {
	sum = sum>>16 + sum&0xFFFF
	return uint16(sum>>16 + sum)
}

const (
	protoTCP = 6
	protoUDP = 17

	firstPort = 1024
	portCount = 65536 - firstPort
	// portStep has no factor in common with portCount (2^10 * 3^2 * 7), so that
	// its multiples visit every port.
	portStep = 25_013
)

var serverPorts = [...]uint16{443, 443, 443, 80, 53, 22, 8080, 5060}

// flow is a five-tuple. src and dst number the hosts of either side; every
// number stands for an IPv4 and an IPv6 address.
type flow struct {
	src, dst     uint32
	sport, dport uint16
	proto        uint8
	v6           bool
}

// population maps flow numbers to flows, without a table. Different numbers have
// different five-tuples, since flows of one source differ in their port.
type population struct {
	seed     uint64
	sources  uint32
	targets  uint32
	v6Border uint32 // a flow is IPv6 where 32 bits of its hash lie below
	allV6    bool
}

func newPopulation(c *Config) *population {
	return &population{
		seed:     mix(c.Seed),
		sources:  uint32(max(1, c.Flows/4, (c.Flows+portCount-1)/portCount)),
		targets:  uint32(max(1, c.Flows/16)),
		v6Border: uint32(c.IPv6 * (1<<32 - 1)),
		allV6:    c.IPv6 == 1,
	}
}

func (p *population) flow(number uint32) flow {
	hash := mix(p.seed + uint64(number))
	more := mix(hash)
	src, turn := number%p.sources, uint64(number/p.sources)
	f := flow{
		src:   src,
		dst:   uint32(uint64(uint32(more)) * uint64(p.targets) >> 32),
		sport: uint16(firstPort + (turn*portStep+uint64(src)*7919)%portCount),
		dport: serverPorts[more>>61],
		proto: protoTCP,
		v6:    p.allV6 || uint32(hash) < p.v6Border,
	}
	if hash>>62 == 0 {
		f.proto = protoUDP
	}
	return f
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	return layout.Mix(x + 0x9e3779b97f4a7c15)
}

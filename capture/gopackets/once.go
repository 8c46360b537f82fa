// SPDX-License-Identifier: Apache-2.0

package gopackets

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/google/gopacket"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
)

// Config configures Once. The zero value is ready to use.
type Config struct {
	// Detector finds the copies. The caller closes it after the last read. The default is a
	// Detector of dedup.Config{}, which Close closes.
	Detector *dedup.Detector
	// LinkType is the link type of all packets. The default is the link type that the handle gives
	// with each packet or in its method LinkType, else Ethernet.
	LinkType capture.LinkType
	// Ahead is how many packets a goroutine may read ahead. Packets that are there are
	// judged together, and none waits for others. With some hundreds a packet takes a
	// quarter of the time. The program may then call only methods of the handle that are
	// safe during a read. With 0, each read of the caller reads and judges packet by
	// packet, without a goroutine.
	Ahead int
}

// Packets gives each packet of a handle once. It is a gopacket.PacketDataSource and a
// gopacket.ZeroCopyPacketDataSource, for one goroutine at a time.
type Packets struct {
	prefetch     *prefetcher
	detector     *dedup.Detector
	ownsDetector bool // Close closes the detector

	chunk  chunk
	drop   []uint64 // the copies in part
	next   int      // number in part
	read   uint64
	copies uint64
}

// Once wraps a handle. Without cfg.Detector it makes a Detector, and panics if there is no memory
// for it.
func Once(src gopacket.PacketDataSource, cfg Config) *Packets {
	p := &Packets{prefetch: newPrefetcher(newHandle(src, cfg.LinkType), max(cfg.Ahead, 0), false), detector: cfg.Detector}
	if p.detector == nil {
		var err error
		if p.detector, err = dedup.New(dedup.Config{}); err != nil {
			panic(fmt.Sprintf("gopackets: Once: %v", err))
		}
		p.ownsDetector = true
	}
	return p
}

// ReadPacketData returns the next packet that is not a copy. Errors come from the handle, at
// their place among the packets. The next call reads on.
func (p *Packets) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	i, err := p.advance()
	switch {
	case err != nil:
		return nil, gopacket.CaptureInfo{}, err
	case len(p.chunk.copied) > 0:
		return p.chunk.copied[i], p.chunk.infos[i], nil
	}
	return bytes.Clone(p.chunk.batch.Data(i)), p.chunk.infos[i], nil
}

// ZeroCopyReadPacketData is ReadPacketData without a copy: data is valid until the next
// call.
func (p *Packets) ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	i, err := p.advance()
	if err != nil {
		return nil, gopacket.CaptureInfo{}, err
	}
	return p.chunk.batch.Data(i), p.chunk.infos[i], nil
}

// Counts returns how many packets were judged, and how many of them were copies.
func (p *Packets) Counts() (packets, copies uint64) { return p.read, p.copies }

// Close ends reading ahead, and closes a detector that Once made. Packets that were read
// ahead are lost, and further reads return os.ErrClosed. It does not wait for a read of the handle
// that is under way with Config.Ahead: the caller closes the handle, which ends that read, and
// does not read from it again.
func (p *Packets) Close() error {
	p.prefetch.close()
	p.chunk = chunk{}
	if p.ownsDetector {
		return p.detector.Close()
	}
	return nil
}

// advance returns the number of the next packet that stays.
func (p *Packets) advance() (int, error) {
	for {
		for p.next < len(p.chunk.infos) {
			i := p.next
			p.next++
			if p.drop[i/64]>>(i%64)&1 == 0 {
				return i, nil
			}
		}
		if err := p.chunk.err; err != nil {
			p.chunk.err = nil
			return 0, err
		}
		p.prefetch.next(&p.chunk)
		p.judge()
	}
}

// judge finds the copies among the packets that were taken.
func (p *Packets) judge() {
	p.next = 0
	if len(p.chunk.infos) == 0 {
		return
	}
	p.drop = p.detector.Copies(&p.chunk.batch)
	p.read += uint64(len(p.chunk.infos))
	for _, word := range p.drop {
		p.copies += uint64(bits.OnesCount64(word))
	}
}

// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// Codes of classic BPF instructions, and the offsets of ancillary data: loads from there read
// the kernel's metadata of a packet (linux/filter.h).
const (
	opClass     = 0x07
	opMode      = 0xE0
	opLoad      = 0x00
	opLoadX     = 0x01
	opReturn    = 0x06
	opReturnK   = 0x06
	opModeAbs   = 0x20
	opModeInd   = 0x40
	opModeMSH   = 0xA0
	opLoadWord  = 0x20
	opLoadZero  = 0x00
	opJumpEqual = 0x15

	ancillaryOffset     = 0xFFFFF000 // SKF_AD_OFF
	ancillaryProtocol   = ancillaryOffset + 0
	ancillaryPacketType = ancillaryOffset + 4
	ancillaryIfindex    = ancillaryOffset + 8
	ancillaryHardware   = ancillaryOffset + 28

	// SKF_NET_OFF: loads from here on count from the network header. They reach the
	// linear part of the packet, which has its headers.
	networkOffset = 0xFFF00000
)

const (
	hardwareEther    = 1   // ARPHRD_ETHER
	hardwareLoopback = 772 // ARPHRD_LOOPBACK
	typeOutgoing     = 4   // PACKET_OUTGOING
)

// rejectAll is a program that no packet passes.
var rejectAll = []bpf.RawInstruction{{Op: opReturnK, K: 0}}

// onceOnLoopback is the start of a program. It rejects the sent frames of a loopback
// interface, since all of them are received too, and passes all others on to the
// instructions after it.
var onceOnLoopback = []bpf.RawInstruction{
	{Op: opLoadWord, K: ancillaryHardware},
	{Op: opJumpEqual, Jf: 3, K: hardwareLoopback},
	{Op: opLoadWord, K: ancillaryPacketType},
	{Op: opJumpEqual, Jf: 1, K: typeOutgoing},
	{Op: opReturnK, K: 0},
	{Op: opLoadZero}, // programs expect a zero accumulator
}

// Why Config.Filters do not fit an interface; test with errors.Is.
var (
	// ErrFilter is returned for a program that the kernel cannot run on this kind of
	// interface.
	ErrFilter = errors.New("the filter tests a field of the cooked header that the kernel does not provide")
	// ErrKernelFilter is returned for a program that the kernel rejects: it accepts at
	// most 4096 instructions and no backward jumps. protochain needs such jumps, and a
	// --bpf-file may have both.
	ErrKernelFilter = errors.New("the kernel refuses the filter (it takes no loops, as of protochain, and 4096 instructions at most)")
	// ErrNoFilter is returned if Config.Filters has programs, but none for this link
	// type.
	ErrNoFilter = errors.New("there is no filter for its link type")
)

// filterFor returns the user's program for frames of a link type, or nil to take all
// frames.
func (c *Config) filterFor(link capture.LinkType) ([]bpf.RawInstruction, error) {
	if c.Filters == nil {
		return nil, nil
	}
	p, ok := c.Filters[link]
	if !ok {
		return nil, fmt.Errorf("%w, %v", ErrNoFilter, link)
	}
	return p, nil
}

// program returns the socket filter of one interface: the user's program, or one that
// every packet passes. It limits lengths to snapLen, and passes looped-back packets once.
func program(user []bpf.RawInstruction, snapLen uint32, everywhere, cooked bool) ([]bpf.RawInstruction, error) {
	var p []bpf.RawInstruction
	if everywhere {
		p = append(p, onceOnLoopback...)
	}
	if len(user) == 0 {
		return append(p, bpf.RawInstruction{Op: opReturnK, K: snapLen}), nil
	}
	for _, ins := range user {
		if ins.Op&opClass == opReturn {
			if ins.Op == opReturnK {
				ins.K = min(ins.K, snapLen)
			}
		} else if cooked {
			k, ok := translateCooked(ins)
			if !ok {
				return nil, ErrFilter
			}
			ins.K = k
		}
		p = append(p, ins)
	}
	return p, nil
}

// translateCooked returns the operand of an instruction that was written for frames with
// a LINKTYPE_LINUX_SLL2 header. The kernel runs programs on the original frame, so the
// operand must point to ancillary data or count from the network header instead. ok is
// false for fields that the kernel cannot provide.
func translateCooked(ins bpf.RawInstruction) (k uint32, ok bool) {
	mode := ins.Op & opMode
	load := ins.Op&opClass == opLoad && (mode == opModeAbs || mode == opModeInd)
	if !load && !(ins.Op&opClass == opLoadX && mode == opModeMSH) {
		return ins.K, true
	}
	switch {
	case ins.K >= networkOffset:
		return ins.K, true
	case ins.K >= cookedLen:
		return ins.K - cookedLen + networkOffset, true
	case mode != opModeAbs:
		return 0, false
	}
	switch ins.K {
	case 0:
		return ancillaryProtocol, true
	case 4:
		return ancillaryIfindex, true
	case 8:
		return ancillaryHardware, true
	case 10:
		return ancillaryPacketType, true
	}
	return 0, false
}

// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// Codes of classic BPF instructions, and offsets of loads that do not count from the start of a
// frame (linux/filter.h).
const (
	opClass = 0x07
	opMode  = 0xE0

	opReturn    = 0x06 // of a constant
	opLoadWord  = 0x20 // from an absolute offset
	opLoadZero  = 0x00 // of the constant 0
	opJumpEqual = 0x15

	classLoad, classLoadX                  = 0x00, 0x01
	modeAbsolute, modeIndirect, modeNibble = 0x20, 0x40, 0xA0

	// ancillaryOffset (SKF_AD_OFF) and the number of an extension (x/net/bpf) are the offset of metadata
	// of the kernel.
	ancillaryOffset = 0xFFFFF000
	// networkOffset (SKF_NET_OFF) is the offset of the network header, in the linear part of the
	// packet.
	networkOffset = 0xFFF00000
)

const (
	hardwareEther    = 1   // ARPHRD_ETHER
	hardwareLoopback = 772 // ARPHRD_LOOPBACK
	typeOutgoing     = 4   // PACKET_OUTGOING
)

// rejectAll is a program that no packet passes.
var rejectAll = []bpf.RawInstruction{{Op: opReturn, K: 0}}

// onceOnLoopback is the start of a program. It rejects the sent frames of a loopback
// interface, since all of them are received too, and passes all others on to the
// instructions after it.
var onceOnLoopback = []bpf.RawInstruction{
	{Op: opLoadWord, K: ancillaryOffset + uint32(bpf.ExtLinkLayerType)},
	{Op: opJumpEqual, Jf: 3, K: hardwareLoopback},
	{Op: opLoadWord, K: ancillaryOffset + uint32(bpf.ExtType)},
	{Op: opJumpEqual, Jf: 1, K: typeOutgoing},
	{Op: opReturn, K: 0},
	{Op: opLoadZero}, // programs expect a zero accumulator
}

// noneSent is the start of a program that rejects all sent frames.
var noneSent = onceOnLoopback[2:]

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

// program returns the socket filter of an interface: the user's program, or a program that
// accepts all packets. It limits lengths to snapLen. before is what begins it.
func program(before, user []bpf.RawInstruction, snapLen uint32, cooked bool) ([]bpf.RawInstruction, error) {
	p := slices.Clone(before)
	if len(user) == 0 {
		return append(p, bpf.RawInstruction{Op: opReturn, K: snapLen}), nil
	}
	for _, ins := range user {
		if ins.Op == opReturn {
			ins.K = min(ins.K, snapLen)
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

// cookedFields are the fields of a LINKTYPE_LINUX_SLL2 header that the kernel has as metadata, by
// their offsets.
var cookedFields = map[uint32]bpf.Extension{0: bpf.ExtProto, 4: bpf.ExtInterfaceIndex, 8: bpf.ExtLinkLayerType, 10: bpf.ExtType}

// translateCooked returns the operand of an instruction that was written for frames with
// a LINKTYPE_LINUX_SLL2 header. The kernel runs programs on the original frame, so the
// operand must point to metadata or count from the network header instead. ok is
// false for fields that the kernel cannot provide.
func translateCooked(ins bpf.RawInstruction) (k uint32, ok bool) {
	class, mode := ins.Op&opClass, ins.Op&opMode
	fromFrame := class == classLoad && (mode == modeAbsolute || mode == modeIndirect) || class == classLoadX && mode == modeNibble
	switch {
	case !fromFrame || ins.K >= networkOffset:
		return ins.K, true
	case ins.K >= cookedLen:
		return ins.K - cookedLen + networkOffset, true
	}
	field, known := cookedFields[ins.K]
	return ancillaryOffset + uint32(field), known && mode == modeAbsolute
}

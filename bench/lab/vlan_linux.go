// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tag is a VLAN tag: its type, of 802.1Q or 802.1ad, and the VLAN's number.
type Tag struct{ Type, VLAN uint16 }

// The types of tags.
const (
	Dot1Q  = 0x8100
	Dot1AD = 0x88A8
)

// VLAN makes an interface for the frames of parent with the given tags, the outermost
// first. It is a VLAN device or, on kernels without them, a pair of interfaces with
// programs that add and remove the tags. Both end with their namespace, programs also
// with the process. It returns an error if the kernel can do neither.
func VLAN(parent, name string, tags ...Tag) error {
	err := device(parent, name, tags)
	if err == nil {
		return nil
	}
	if other := switched(parent, name, tags); other != nil {
		return fmt.Errorf("no VLAN: %w; %w", err, other)
	}
	return nil
}

// device stacks VLAN devices.
func device(parent, name string, tags []Tag) error {
	for i, tag := range tags {
		on, called, protocol := parent, name, "802.1Q"
		if i > 0 {
			on = fmt.Sprintf("%s-%d", name, i)
		}
		if i < len(tags)-1 {
			called = fmt.Sprintf("%s-%d", name, i+1)
		}
		if tag.Type == Dot1AD {
			protocol = "802.1ad"
		}
		err := IP(fmt.Sprintf("link add link %s name %s type vlan proto %s id %d", on, called, protocol, tag.VLAN))
		if err == nil {
			err = IP("link set " + called + " up")
		}
		if err != nil {
			return err
		}
	}
	return AwaitLink(name)
}

// switched makes a pair of interfaces. Frames that enter one leave at the parent:
//
//	stack -- name ==== name-x -(put tags on)-> parent
//	stack -- name ==== name-x <-(take tags off)-- parent
func switched(parent, name string, tags []Tag) error {
	if err := loads(); err != nil {
		return err
	}
	below, err := net.InterfaceByName(parent)
	if err != nil {
		return err
	}
	helper := name + "-x"
	if err := Pair(name, helper); err != nil {
		return err
	}
	beside, err := net.InterfaceByName(helper)
	if err != nil {
		return err
	}
	return errors.Join(IP("link set "+name+" address "+below.HardwareAddr.String()),
		classify(beside.Index, tagger(tags, below.Index)), classify(below.Index, untagger(tags, beside.Index)))
}

// classify runs a program on all frames that an interface receives, for as long as the
// process lives.
func classify(index int, code []uint64) error {
	program, err := loadProgram(unix.BPF_PROG_TYPE_SCHED_CLS, code)
	if err != nil {
		return err
	}
	attributes := struct {
		program, index, place, flags uint32
		_                            [2]uint64 // the place among others
	}{program: uint32(program), index: uint32(index), place: unix.BPF_TCX_INGRESS}
	_, err = bpf("BPF_LINK_CREATE", unix.BPF_LINK_CREATE, unsafe.Pointer(&attributes), unsafe.Sizeof(attributes))
	return errors.Join(err, unix.Close(program)) // the link keeps it
}

// The instructions of both programs. Register 6 holds the frame, 1 to 3 the arguments, 0
// the result.
const (
	pushTag, popTag, redirect = 18, 19, 23 // functions of the kernel
	frameTag                  = 24         // of struct __sk_buff
	numberMask                = 0xFFF      // of a tag
)

// tagger adds tags and sends the frame out of an interface.
func tagger(tags []Tag, to int) []uint64 {
	code := []uint64{instruction(move, 6, 1, 0, 0)}
	for i := len(tags) - 1; i >= 0; i-- {
		kind := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, tags[i].Type))
		code = append(code,
			instruction(move, 1, 6, 0, 0), instruction(set, 2, 0, 0, int32(kind)),
			instruction(set, 3, 0, 0, int32(tags[i].VLAN)), instruction(call, 0, 0, 0, pushTag))
	}
	return append(code, sending(to)...)
}

// untagger removes tags and sends the frame out of an interface. It ignores frames of
// other VLANs.
func untagger(tags []Tag, to int) []uint64 {
	body := []uint64{}
	for range tags {
		body = append(body, instruction(move, 1, 6, 0, 0), instruction(call, 0, 0, 0, popTag))
	}
	body = append(body, sending(to)...)
	code := []uint64{
		instruction(move, 6, 1, 0, 0), instruction(load32, 2, 1, frameTag, 0),
		instruction(and, 2, 0, 0, numberMask), instruction(unless, 2, 0, int16(len(body)), int32(tags[0].VLAN)),
	}
	return append(append(code, body...), instruction(set, 0, 0, 0, 0), instruction(exit, 0, 0, 0, 0))
}

func sending(to int) []uint64 {
	return []uint64{
		instruction(set, 1, 0, 0, int32(to)), instruction(set, 2, 0, 0, 0),
		instruction(call, 0, 0, 0, redirect), instruction(exit, 0, 0, 0, 0),
	}
}

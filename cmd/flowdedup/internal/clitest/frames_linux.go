// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// Frame is an Ethernet frame with a UDP packet.
type Frame struct {
	ID   uint16 // of the IP packet
	Src  byte   // the last byte of its source address
	TTL  byte
	VLAN uint16 // 0 for no tag
}

// Bytes returns the frame.
func (f Frame) Bytes() []byte {
	b := []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01")
	be := binary.BigEndian
	if f.VLAN != 0 {
		b = be.AppendUint16(append(b, 0x81, 0), f.VLAN)
	}
	b = append(b, 8, 0)
	head := []byte{0x45, 0, 0, 46, 0, 0, 0, 0, f.TTL, 17, 0, 0, 10, 0, 0, f.Src, 10, 0, 1, 1}
	be.PutUint16(head[4:], f.ID)
	sum := uint32(0)
	for i := 0; i < len(head); i += 2 {
		sum += uint32(be.Uint16(head[i:]))
	}
	be.PutUint16(head[10:], ^uint16(sum+sum>>16))
	b = append(b, head...)
	b = be.AppendUint32(b, 0x04d21a85)
	b = be.AppendUint32(b, 26<<16)
	return append(b, make([]byte, 18)...)
}

// SendTo sends frames out of an interface.
func SendTo(t *testing.T, name string, frames ...Frame) {
	t.Helper()
	var all [][]byte
	for _, f := range frames {
		all = append(all, f.Bytes())
	}
	SendBytes(t, name, all...)
}

// SendBytes sends frames out of an interface, and waits where the kernel has no room.
func SendBytes(t *testing.T, name string, frames ...[]byte) {
	t.Helper()
	s, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: name, Queue: true, RetryTimeout: wait.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for _, data := range frames {
		b.Append(capture.Frame{}, data)
	}
	if err := s.Send(&b, nil); err != nil {
		t.Fatal(err)
	}
}

// SendVXLAN sends frames to the VXLAN port of this namespace.
func SendVXLAN(t *testing.T, vni byte, frames ...[]byte) {
	t.Helper()
	conn, err := net.Dial("udp", "127.0.0.1:4789")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, f := range frames {
		if _, err := conn.Write(append([]byte{8, 0, 0, 0, 0, 0, vni, 0}, f...)); err != nil {
			t.Fatal(err)
		}
	}
}

// MirrorPort is the port of VXLAN.
const MirrorPort = 4789

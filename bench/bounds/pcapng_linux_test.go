// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"bufio"
	"encoding/binary"
	"os"
	"testing"
)

var le = binary.LittleEndian

// capture is a file that is being written, mostly a pcapng one.
type capture struct {
	w    *bufio.Writer
	size int64
	buf  []byte
}

// writeCapture makes a file from the output of fill.
func writeCapture(t *testing.T, name string, fill func(c *capture)) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &capture{w: bufio.NewWriterSize(f, 1<<20)}
	fill(c)
	if err := c.w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// Write writes bytes as they are. The last Flush returns errors.
func (c *capture) Write(b []byte) (int, error) {
	c.size += int64(len(b))
	return c.w.Write(b)
}

// block writes a block of pcapng.
func (c *capture) block(kind uint32, parts ...[]byte) {
	b := append(le.AppendUint32(c.buf[:0], kind), 0, 0, 0, 0)
	for _, part := range parts {
		b = padded(append(b, part...))
	}
	n := uint32(len(b) + 4)
	le.PutUint32(b[4:], n)
	c.buf = le.AppendUint32(b, n)
	_, _ = c.Write(c.buf)
}

// padded fills up to a multiple of four bytes.
func padded(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// option is an option of a block.
func option(code int, value []byte) []byte {
	b := le.AppendUint16(le.AppendUint16(nil, uint16(code)), uint16(len(value)))
	return padded(append(b, value...))
}

// lastOption ends options.
var lastOption = make([]byte, 4)

const (
	sectionBlock   = 0x0A0D0D0A
	interfaceBlock = 1
	namesBlock     = 4
	packetBlock    = 6
	secretsBlock   = 10
	customBlock    = 0x0BAD
	unknownBlock   = 0x7777
)

// begin is the time of the first packets in microseconds.
const begin = 1_700_000_000_000_000

func (c *capture) section(options ...[]byte) {
	head := le.AppendUint32(nil, 0x1A2B3C4D)
	head = le.AppendUint64(le.AppendUint32(head, 1), 1<<64-1)
	c.block(sectionBlock, append([][]byte{head}, options...)...)
}

// iface describes an interface of a link type.
func (c *capture) iface(link int, options ...[]byte) {
	c.block(interfaceBlock, append([][]byte{le.AppendUint32(le.AppendUint32(nil, uint32(link)), 0)}, options...)...)
}

// packet writes a packet at a time, in the resolution of its interface.
func (c *capture) packet(iface int, at uint64, frame []byte, options ...[]byte) {
	head := le.AppendUint32(nil, uint32(iface))
	head = le.AppendUint32(le.AppendUint32(head, uint32(at>>32)), uint32(at))
	head = le.AppendUint32(le.AppendUint32(head, uint32(len(frame))), uint32(len(frame)))
	c.block(packetBlock, append([][]byte{head, frame}, options...)...)
}

// plain begins a section with one Ethernet interface.
func (c *capture) plain() {
	c.section()
	c.iface(1)
}

// pcap writes the header of a pcap file of Ethernet frames.
func (c *capture) pcap() {
	head := le.AppendUint32(nil, 0xA1B2C3D4)
	head = append(le.AppendUint32(head, 4<<16|2), make([]byte, 8)...)
	_, _ = c.Write(le.AppendUint32(le.AppendUint32(head, 96), 1))
}

// record writes a packet of a pcap file, which may have another length than it says.
func (c *capture) record(at uint64, length int, frame []byte) {
	head := le.AppendUint32(le.AppendUint32(nil, uint32(at/1e6)), uint32(at%1e6))
	head = le.AppendUint32(le.AppendUint32(head, uint32(len(frame))), uint32(length))
	_, _ = c.Write(head)
	_, _ = c.Write(frame)
}

// ethernet puts the header of an Ethernet frame before a packet.
func ethernet(kind uint16, packet []byte) []byte {
	b := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
	return append(binary.BigEndian.AppendUint16(b, kind), packet...)
}

// ipv4 puts a header of IPv4 before the payload, of UDP. Number i chooses identification and source.
func ipv4(i int, fragment uint16, payload []byte) []byte {
	be := binary.BigEndian
	b := be.AppendUint16([]byte{0x45, 0}, uint16(20+len(payload)))
	b = be.AppendUint16(be.AppendUint16(b, uint16(i)), fragment)
	b = append(b, 64, 17, 0, 0)
	b = be.AppendUint32(be.AppendUint32(b, 10<<24+uint32(i)), 0xC0A80001)
	return append(b, payload...)
}

// datagram is the UDP datagram number i to a port.
func datagram(i, port int, payload []byte) []byte {
	be := binary.BigEndian
	b := be.AppendUint16(be.AppendUint16(nil, uint16(1000+i%50_000)), uint16(port))
	b = be.AppendUint16(be.AppendUint16(b, uint16(8+len(payload))), 0)
	return ipv4(i, 0, append(b, payload...))
}

// frame is the frame number i. All are different, each of a flow of its own.
func frame(i int) []byte { return ethernet(0x0800, datagram(i, 53, make([]byte, 18))) }

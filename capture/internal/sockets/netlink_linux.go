// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"encoding/binary"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// netlink is a socket that asks the kernel about interfaces (rtnetlink). It stays in the network
// namespace that it was opened in.
type netlink struct{ fd int }

// openNetlink opens a socket that also gets the messages of multicast groups.
func openNetlink(groups uint32) (netlink, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return netlink{-1}, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		_ = unix.Close(fd) // the first error is the one to report
		return netlink{-1}, os.NewSyscallError("bind", err)
	}
	return netlink{fd}, nil
}

func (n *netlink) close() {
	if n.fd >= 0 {
		_ = unix.Close(n.fd) // it has nothing to lose
		n.fd = -1
	}
}

// ask sends a request about an interface, with attributes, and returns the messages of the answer,
// which the kernel gives at once.
func (n *netlink) ask(kind, flags uint16, index int, attributes []byte) ([]syscall.NetlinkMessage, error) {
	native := binary.NativeEndian
	request := make([]byte, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
	native.PutUint32(request, uint32(len(request)+len(attributes)))
	native.PutUint16(request[4:], kind)
	native.PutUint16(request[6:], unix.NLM_F_REQUEST|flags)
	native.PutUint32(request[unix.SizeofNlMsghdr+4:], uint32(index))
	if err := unix.Sendto(n.fd, append(request, attributes...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("netlink", err)
	}
	return n.receive()
}

// receive returns messages that wait; the error is EAGAIN if there are none.
func (n *netlink) receive() ([]syscall.NetlinkMessage, error) {
	answer := make([]byte, 32<<10) // more than the kernel sends at once
	size, _, err := unix.Recvfrom(n.fd, answer, 0)
	if err != nil {
		return nil, err
	}
	return syscall.ParseNetlinkMessage(answer[:size])
}

// indexOf returns the interface that a message is about, 0 for a message of another kind.
func indexOf(m *syscall.NetlinkMessage, kind uint16) int {
	if m.Header.Type != kind || len(m.Data) < unix.SizeofIfInfomsg {
		return 0
	}
	return int(binary.NativeEndian.Uint32(m.Data[4:]))
}

// attributeOf returns the value of an attribute of a message about an interface, nil if it has none.
func attributeOf(m *syscall.NetlinkMessage, kind uint16) []byte {
	all, err := syscall.ParseNetlinkRouteAttr(m)
	if err != nil {
		return nil
	}
	for _, a := range all {
		if a.Attr.Type == kind {
			return a.Value
		}
	}
	return nil
}

// readCounters reads the counters of an interface that all drivers have.
func (n *netlink) readCounters(index int, counts *CardCounts) bool {
	answer, err := n.ask(unix.RTM_GETLINK, 0, index, nil)
	if err != nil || len(answer) == 0 || indexOf(&answer[0], unix.RTM_NEWLINK) != index {
		return false
	}
	stats := attributeOf(&answer[0], unix.IFLA_STATS64)
	for i := range ofDrivers {
		if at := 8 * cardCounters[i].at; at+8 <= len(stats) { // rx_nohandler came with Linux 4.6
			counts[i] = binary.NativeEndian.Uint64(stats[at:])
		}
	}
	return len(stats) > 0
}

// Refusal returns why the driver of an interface refuses an XDP program, in the driver's words, or
// "". A bpf_link does not report these words, and netlink does. A program that the driver takes all
// the same is taken off again.
func Refusal(index, program int) string {
	n, err := openNetlink(0)
	if err != nil {
		return ""
	}
	defer n.close()
	// Without these words the error has to do.
	_ = unix.SetsockoptInt(n.fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	attributes := xdpAttributes(program)
	answer, err := n.ask(unix.RTM_SETLINK, unix.NLM_F_ACK, index, attributes)
	if err != nil || len(answer) == 0 || answer[0].Header.Type != unix.NLMSG_ERROR {
		return ""
	}
	data := answer[0].Data
	if len(data) >= 4 && binary.NativeEndian.Uint32(data) == 0 {
		_, _ = n.ask(unix.RTM_SETLINK, unix.NLM_F_ACK, index, xdpAttributes(-1)) // it was taken a moment ago
		return ""
	}
	if begin := 4 + unix.SizeofNlMsghdr + unix.SizeofIfInfomsg + len(attributes); len(data) > begin {
		// The reason is an attribute behind the request, laid out as the attributes of an answer.
		words := syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: unix.RTM_NEWLINK}, Data: append(make([]byte, unix.SizeofIfInfomsg), data[begin:]...)}
		return unix.ByteSliceToString(attributeOf(&words, unix.NLMSGERR_ATTR_MSG))
	}
	return ""
}

// xdpAttributes ask for a program in the driver; -1 stands for none.
func xdpAttributes(program int) []byte {
	native, flags := binary.NativeEndian, uint32(unix.XDP_FLAGS_DRV_MODE)
	if program >= 0 {
		flags |= unix.XDP_FLAGS_UPDATE_IF_NOEXIST // without it for -1: the kernel would refuse to take a program off
	}
	var b []byte
	for _, a := range []struct {
		len, kind uint16
		value     uint32
	}{{8, unix.IFLA_XDP_FD, uint32(program)}, {8, unix.IFLA_XDP_FLAGS, flags}} {
		b = native.AppendUint32(native.AppendUint16(native.AppendUint16(b, a.len), a.kind), a.value)
	}
	head := native.AppendUint16(nil, uint16(4+len(b)))
	return append(native.AppendUint16(head, unix.IFLA_XDP|unix.NLA_F_NESTED), b...)
}

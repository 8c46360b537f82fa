// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
)

// Why a sender cannot be opened; test with errors.Is.
var (
	ErrAddress      = errors.New("not the address of a collector: write it as udp://HOST:2055")
	ErrNotPermitted = errors.New("not permitted: the exporter's address needs CAP_NET_RAW (run as root, or setcap cap_net_raw+ep on the program)")
	ErrNotSupported = errors.New("to keep the exporter's address is supported on Linux only")
)

// Sender sends messages to a collector. One goroutine at a time may use it.
type Sender struct {
	name  string
	conn  *net.UDPConn
	spoof *spoofer // nil for the own address
	stats SenderStats
}

// SenderStats counts the messages of a Sender.
type SenderStats struct {
	Sent  uint64 `json:"sent"`
	Bytes uint64 `json:"bytes"`
	// Failed are messages that the system did not take, or whose predecessor the
	// collector's host refused.
	Failed uint64 `json:"failed"`
	// Own are messages sent with the own address, as the exporter's is unknown or of the
	// other family. They count only where the exporter's was asked for.
	Own uint64 `json:"own"`
}

// OpenSender opens a sender to udp://HOST:PORT, whose name is looked up once. With spoof,
// messages have the address and the port of their exporter, so collectors distinguish exporters
// as before. Errors name the collector. They wrap ErrAddress, ErrNotPermitted, or
// ErrNotSupported where these are the reason.
func OpenSender(name string, spoof bool) (*Sender, error) {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "udp" || u.Hostname() == "" || u.Port() == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q: %w", name, ErrAddress)
	}
	conn, err := net.Dial("udp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, reason(err))
	}
	s := &Sender{name: name, conn: conn.(*net.UDPConn)}
	if spoof {
		if s.spoof, err = newSpoofer(s.conn.RemoteAddr().(*net.UDPAddr).AddrPort()); err != nil {
			_ = conn.Close() // nothing was sent
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// reason returns an error without the addresses that callers name anyway.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err
}

// Send sends a message that came from an exporter. A message that cannot be sent is
// counted, and its error returned: the next may pass, as collectors come and go.
func (s *Sender) Send(from netip.AddrPort, message []byte) error {
	var err error
	switch {
	case s.spoof == nil:
		_, err = s.conn.Write(message)
	case !s.spoof.can(from):
		s.stats.Own++
		_, err = s.conn.Write(message)
	default:
		err = s.spoof.send(from, message)
	}
	if err != nil {
		s.stats.Failed++
		return fmt.Errorf("%s: %w", s.name, reason(err))
	}
	s.stats.Sent++
	s.stats.Bytes += uint64(len(message))
	return nil
}

// Stats returns the counts.
func (s *Sender) Stats() SenderStats { return s.stats }

// Close closes the sender. Sent messages are on their way.
func (s *Sender) Close() error {
	if s.spoof != nil {
		s.spoof.close()
	}
	return s.conn.Close()
}

// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
)

// Address is where a capture comes from or goes to.
type Address struct {
	name   string // as the user wrote it
	host   string // and port
	listen bool
	format capture.Format // 0 unless the name has a format
	micro  bool           // pcap has microseconds
}

// ErrAddress is wrapped by errors about the form of an address.
var ErrAddress = errors.New("not an address of a capture")

// The beginnings of addresses.
const (
	connects = "tcp://"
	listens  = "tcp-listen://"
)

// loopback is the default host of addresses to listen on.
const loopback = "127.0.0.1"

// IsAddress reports whether a name is an address and not a file's.
func IsAddress(name string) bool {
	return strings.HasPrefix(name, connects) || strings.HasPrefix(name, listens)
}

// ParseAddress reads tcp://HOST:PORT, where to connect to, or tcp-listen://HOST:PORT,
// where to listen. Without a host that is the loopback interface. For a [Sender], ?format= may
// follow: pcapng, pcap (in microseconds), or nsecpcap. Errors wrap ErrAddress and name the
// address.
func ParseAddress(name string) (Address, error) {
	_, rest, _ := strings.Cut(name, "://")
	rest, query, _ := strings.Cut(rest, "?")
	a := Address{name: name, listen: Listens(name)}
	if err := a.parseQuery(query); err != nil {
		return a, fmt.Errorf("%q: %w: %w", name, ErrAddress, err)
	}
	host, port, err := net.SplitHostPort(rest)
	_, bad := strconv.ParseUint(port, 10, 16)
	switch {
	case !IsAddress(name) || err != nil:
		return a, fmt.Errorf("%q: %w: write it as tcp://HOST:57012 or tcp-listen://:57012", name, ErrAddress)
	case bad != nil || port == "0" && !a.listen:
		return a, fmt.Errorf("%q: %w: its port must be a number up to 65535", name, ErrAddress)
	case host == "" && !a.listen:
		return a, fmt.Errorf("%q: %w: it names no host", name, ErrAddress)
	case host == "":
		host = loopback
	}
	a.host = net.JoinHostPort(host, port)
	return a, nil
}

// ParseInput reads an address that captures come from. Their own first bytes say the format,
// so it must name none.
func ParseInput(name string) (Address, error) {
	a, err := ParseAddress(name)
	if err == nil && a.format != 0 {
		err = fmt.Errorf("%q: %w: format= is for outputs; an input is pcap or pcapng as it comes", name, ErrAddress)
	}
	return a, err
}

// parseQuery reads the query of an address, behind its question mark.
func (a *Address) parseQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	for option, all := range values {
		switch {
		case option != "format":
			return fmt.Errorf("no option %q: there is format=pcap, format=nsecpcap and format=pcapng", option)
		case len(all) > 1:
			return errors.New("format= is given twice")
		case all[0] == "pcap", all[0] == "nsecpcap": // as editcap names them
			a.format, a.micro = capture.FormatPcap, all[0] == "pcap"
		case all[0] == "pcapng":
			a.format = capture.FormatPcapNG
		default:
			return fmt.Errorf("no format %q: there are pcap, nsecpcap and pcapng", all[0])
		}
	}
	return nil
}

// Classic reports whether an address asks for pcap rather than pcapng.
func Classic(name string) bool {
	a, err := ParseAddress(name)
	return err == nil && a.format == capture.FormatPcap
}

// String returns the address as it was written.
func (a Address) String() string { return a.name }

// Listens reports whether peers connect to an address.
func Listens(name string) bool { return strings.HasPrefix(name, listens) }

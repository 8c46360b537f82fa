// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Address is where a capture comes from or goes to.
type Address struct {
	name   string // as the user wrote it
	host   string // and port
	listen bool
}

// ErrAddress is wrapped by errors about the form of an address.
var ErrAddress = errors.New("not an address of a capture")

// The beginnings of addresses.
const (
	connects = "tcp://"
	listens  = "tcp-listen://"
)

// loopback is the host of addresses to listen on without one.
const loopback = "127.0.0.1"

// IsAddress reports whether a name is an address and not a file's.
func IsAddress(name string) bool {
	return strings.HasPrefix(name, connects) || strings.HasPrefix(name, listens)
}

// ParseAddress reads tcp://HOST:PORT, where to connect to, or tcp-listen://HOST:PORT,
// where to listen. Without a host that is the loopback interface. Its errors wrap
// ErrAddress and name the address.
func ParseAddress(name string) (Address, error) {
	_, rest, _ := strings.Cut(name, "://")
	a := Address{name: name, listen: Listens(name)}
	host, port, err := net.SplitHostPort(rest)
	switch {
	case !IsAddress(name) || err != nil:
		return a, fmt.Errorf("%q: %w: write it as tcp://HOST:57012 or tcp-listen://:57012", name, ErrAddress)
	case !isPort(port) || port == "0" && !a.listen:
		return a, fmt.Errorf("%q: %w: its port must be a number up to 65535", name, ErrAddress)
	case host == "" && !a.listen:
		return a, fmt.Errorf("%q: %w: it names no host", name, ErrAddress)
	case host == "":
		host = loopback
	}
	a.host = net.JoinHostPort(host, port)
	return a, nil
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// String returns the address as it was written.
func (a Address) String() string { return a.name }

// Listens reports whether peers connect to an address.
func Listens(name string) bool { return strings.HasPrefix(name, listens) }

package monitor

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// ErrAddress is returned, wrapped, for an address that cannot be understood.
var ErrAddress = errors.New("not an address to listen on")

// loopback is where addresses without a host listen.
const loopback = "127.0.0.1"

// address completes host:port, :port or port. Whoever wants to be reached from
// elsewhere has to name a host, such as 0.0.0.0.
func address(addr string) (string, error) {
	if _, err := strconv.ParseUint(addr, 10, 64); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("--listen %q: %w; write it as 127.0.0.1:9469 or 9469", addr, ErrAddress)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("--listen %s: %w; its port must be a number from 0 to 65535", addr, ErrAddress)
	}
	if host == "" {
		host = loopback
	}
	return net.JoinHostPort(host, port), nil
}

// listen opens the port of a complete address. Errors say what to do.
func listen(full string) (net.Listener, error) {
	l, err := net.Listen("tcp", full)
	if err == nil {
		return l, nil
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; another program has this port, choose another one"
	case errors.Is(err, syscall.EACCES):
		hint = "; choose a port above 1023"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "; this host has no such address"
	}
	// What net says of the address again is left out.
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return nil, fmt.Errorf("--listen %s: %w%s", full, err, hint)
}

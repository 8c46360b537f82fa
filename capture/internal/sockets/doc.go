// SPDX-License-Identifier: Apache-2.0

// Package sockets has the common code of packages afpacket and xdp. A [Capture] begins and
// ends, waits for packets, can be stopped while it waits, and follows interfaces that go down,
// away, and come back; a watcher follows their properties and what their network cards lose. The
// differences are in a [Port], an interface with its sockets, and the function that reads packets. A
// [Ring] is for AF_XDP sockets of both packages.
package sockets

import "errors"

// Why a capture cannot begin, or ends.
var (
	ErrNoInterface = errors.New("no such interface")
	ErrDown        = errors.New("the interface is down")
	ErrRemoved     = errors.New("the interface was removed")
	ErrLinkChanged = errors.New("the interface came up with another link type")
)

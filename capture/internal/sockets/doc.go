// SPDX-License-Identifier: Apache-2.0

// Package sockets is shared by captures through sockets of Linux. A [Capture] is the source
// that both are: how it begins and ends, waits for packets, is stopped while it waits, and
// follows interfaces that go down, away, and come back. The differences are in a [Port], an
// interface with its sockets, and the function that reads packets.
package sockets

import "errors"

// Why a capture cannot begin, or ends.
var (
	ErrNoInterface = errors.New("no such interface")
	ErrDown        = errors.New("the interface is down")
	ErrRemoved     = errors.New("the interface was removed")
	ErrLinkChanged = errors.New("the interface came back with another link type")
)

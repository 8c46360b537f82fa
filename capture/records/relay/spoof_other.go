// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package relay

import "net/netip"

// spoofer exists only on Linux.
type spoofer struct{}

func newSpoofer(netip.AddrPort) (*spoofer, error) { return nil, ErrNotSupported }

func (*spoofer) can(netip.AddrPort) bool { return false }

func (*spoofer) send(netip.AddrPort, []byte) error { return ErrNotSupported }

func (*spoofer) close() {}

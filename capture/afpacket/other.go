// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package afpacket

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
)

// errLinux is the error of every function here.
var errLinux = fmt.Errorf("live capture needs Linux: %w", errors.ErrUnsupported)

// Capture is live traffic, on Linux.
type Capture struct{ capture.Source }

// Open returns an error that wraps errors.ErrUnsupported.
func Open(conf Config) (*Capture, error) {
	if _, err := conf.withDefaults(); err != nil {
		return nil, err
	}
	return nil, errLinux
}

// Start returns an error that wraps errors.ErrUnsupported.
func (*Capture) Start() error { return errLinux }

// Stats returns nothing.
func (*Capture) Stats() []Stats { return nil }

// Stop does nothing.
func (*Capture) Stop() {}

// LinkTypeOf returns an error that wraps errors.ErrUnsupported.
func LinkTypeOf(string, bool) (capture.LinkType, error) { return 0, errLinux }

// Check returns an error that wraps errors.ErrUnsupported.
func Check(string, bool) error { return errLinux }

// StampsInHardware reports false.
func StampsInHardware(string) bool { return false }

// Sender sends frames, on Linux.
type Sender struct{}

// OpenSender returns an error that wraps errors.ErrUnsupported.
func OpenSender(SenderConfig) (*Sender, error) { return nil, errLinux }

// Send sends nothing.
func (*Sender) Send(*capture.Batch, []uint64) error { return errLinux }

// Stats returns nothing.
func (*Sender) Stats() SenderStats { return SenderStats{} }

// Avoid does nothing.
func (*Sender) Avoid([]*Sender) {}

// Reachable returns false.
func (*Sender) Reachable() bool { return false }

// Close does nothing.
func (*Sender) Close() error { return nil }

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package xdp

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// errLinux is the error of every function here.
var errLinux = fmt.Errorf("AF_XDP needs Linux: %w", errors.ErrUnsupported)

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
func (*Capture) Stats() []afpacket.Stats { return nil }

// Stop does nothing.
func (*Capture) Stop() {}

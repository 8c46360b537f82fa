// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package xdp

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// Capture is live traffic, on Linux.
type Capture = afpacket.Capture

// Open returns an error that wraps errors.ErrUnsupported.
func Open(conf Config) (*Capture, error) {
	if _, err := conf.withDefaults(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("AF_XDP needs Linux: %w", errors.ErrUnsupported)
}

// Check finds nothing to check.
func Check(string, *Config, bool) error { return nil }

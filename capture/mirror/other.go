// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mirror

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
)

// errLinux is the error of every function here.
var errLinux = fmt.Errorf("mirror targets need Linux: %w", errors.ErrUnsupported)

// Capture is mirrored traffic, on Linux.
type Capture struct{ capture.Source }

// Open returns an error that wraps errors.ErrUnsupported.
func Open(conf Config) (*Capture, error) {
	if _, err := conf.withDefaults(); err != nil {
		return nil, err
	}
	return nil, errLinux
}

// OpenEach returns an error that wraps errors.ErrUnsupported.
func OpenEach(conf Config) ([]*Capture, error) {
	_, err := Open(conf)
	return nil, err
}

// Start returns an error that wraps errors.ErrUnsupported.
func (*Capture) Start() error { return errLinux }

// Stats returns nothing.
func (*Capture) Stats() []Stats { return nil }

// Stop does nothing.
func (*Capture) Stop() {}

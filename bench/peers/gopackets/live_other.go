// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"errors"
	"io"
)

func live(string, job, io.Writer) error { return errors.ErrUnsupported }

//go:build !linux

package main

import (
	"errors"
	"io"
)

func live(string, job, io.Writer) error { return errors.ErrUnsupported }

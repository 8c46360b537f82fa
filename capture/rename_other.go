//go:build !linux

package capture

import "errors"

// moveNew is for systems that rename without replacing.
func moveNew(string, string) error { return errors.ErrUnsupported }

// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package sink

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }

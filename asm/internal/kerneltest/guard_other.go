// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package kerneltest

import "testing"

// guarded returns n bytes: there are no guard pages here.
func guarded(_ testing.TB, n int, _ bool) []byte { return make([]byte, n) }

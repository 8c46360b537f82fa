// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cli

// checkOpenFiles has nothing to check: neither Windows nor a browser sets such a limit.
func checkOpenFiles() error { return nil }

// ignoreSIGPIPE does nothing: a closed pipe is a write error there.
func ignoreSIGPIPE() {}

// hangupIgnored reports false: no parent can ignore SIGHUP for the program there.
func hangupIgnored() bool { return false }

// SPDX-License-Identifier: Apache-2.0

package cli

// checkOpenFiles has nothing to check: Windows sets no limit of this kind.
func checkOpenFiles() error { return nil }

// ignoreSIGPIPE does nothing: Windows reports a closed pipe as a write error.
func ignoreSIGPIPE() {}

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package live

// refuseForward has nothing to refuse: this system cannot capture.
func refuseForward([]string, string) error { return nil }

// checkRights finds nothing to check.
func checkRights(*config) error { return nil }

// become does nothing for the same reason.
func become(string) error { return nil }

// behindPackets does nothing, as there are no packets.
func behindPackets() {}

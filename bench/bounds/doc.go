// SPDX-License-Identifier: Apache-2.0

// Package bounds runs every command on inputs that were made to take memory, each in a cgroup
// of 256 MiB. Nothing may be killed, hang, end with an exit code that the manual does not have,
// or print more than lines of its own.
//
// It is a test that needs Linux. Where no cgroup can be made, the most memory that a command had
// is compared with the limit after it has ended. Without FLOWDEDUP_BOUNDS=all the test makes
// small inputs, and gives each to some of the commands.
package bounds

// SPDX-License-Identifier: Apache-2.0

// Package commands is the command line of flowdedup: its commands below one root.
package commands

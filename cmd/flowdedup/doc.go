// SPDX-License-Identifier: Apache-2.0

// Command flowdedup removes duplicate packets from captures and counts
// distinct addresses and flows per hour. Run "flowdedup help" for the manual.
package main

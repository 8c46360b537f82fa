// SPDX-License-Identifier: Apache-2.0

// Command flowdedup removes duplicate packets from captures and counts
// distinct addresses and flows per hour. Run "flowdedup help" for the manual.
package main

import (
	"os"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

func main() {
	os.Exit(commands.Main(os.Args[1:], os.Stdout, os.Stderr))
}

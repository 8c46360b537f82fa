// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

func main() {
	os.Exit(commands.Main(os.Args[1:], os.Stdout, os.Stderr))
}

// SPDX-License-Identifier: Apache-2.0

package cli_test

import "github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"

// What tests in network namespaces share has short names here.
var (
	lab         = clitest.Lab
	pair        = clitest.Pair
	ip          = clitest.IP
	awaitRead   = clitest.AwaitRead
	copyProgram = clitest.CopyProgram
	framesOf    = clitest.FramesOf
)

// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// What tests of all commands share has short names here.
const (
	exitDone   = cli.ExitDone
	exitFailed = cli.ExitFailed
	exitUsage  = cli.ExitUsage

	testTimeout = wait.Timeout
)

var (
	lab         = clitest.Lab
	pair        = clitest.Pair
	ip          = clitest.IP
	awaitRead   = clitest.AwaitRead
	copyProgram = clitest.CopyProgram
	framesOf    = clitest.FramesOf
	sendTo      = clitest.SendTo
	sendBytes   = clitest.SendBytes
	smallDisk   = clitest.SmallDisk
	fill        = clitest.Fill

	run          = clitest.Run
	program      = clitest.Program
	exitCodeOf   = clitest.ExitCode
	bundled      = clitest.Bundled
	waitFor      = wait.Until
	needTcpdump  = clitest.NeedTcpdump
	runDedup     = clitest.RunDedup
	overrule     = clitest.Overrule
	rotatedFiles = clitest.RotatedFiles
	commentsOf   = clitest.CommentsOf
	tool         = clitest.Tool
	dialled      = clitest.Dialled
)

type liveFrame = clitest.Frame

// sample is clitest.Sample.
func sample[T any](n int, cases []T) []T { return clitest.Sample(n, cases) }

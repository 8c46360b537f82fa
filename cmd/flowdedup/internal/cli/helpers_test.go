// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// What tests of all commands share has short names here.
const (
	exitDone      = cli.ExitDone
	exitFailed    = cli.ExitFailed
	exitUsage     = cli.ExitUsage
	exitDamaged   = cli.ExitDamaged
	exitDifferent = cli.ExitDifferent
)

var (
	run         = clitest.Run
	program     = clitest.Program
	exitCodeOf  = clitest.ExitCode
	bundled     = clitest.Bundled
	waitFor     = wait.Until
	needTcpdump = clitest.NeedTcpdump
	runDedup    = clitest.RunDedup
	runCompare  = clitest.RunCompare
	runInspect  = clitest.RunInspect
	writePart   = clitest.WritePart
	sharedDir   = clitest.SharedDir
	sharedFiles = clitest.SharedFiles
	exitOf      = clitest.ExitOf
	runCut      = clitest.RunCut
	moreCopies  = clitest.MoreCopies
	spentTime   = clitest.SpentTime

	readAll        = clitest.ReadAll
	compareRecords = clitest.CompareRecords
	writeStream    = clitest.WriteStream
	readStream     = clitest.ReadStream
	rotatedFiles   = clitest.RotatedFiles
	needTshark     = clitest.NeedTshark
	fieldsOf       = clitest.FieldsOf
	packetBytes    = clitest.PacketBytes
	fileSize       = clitest.FileSize
	tool           = clitest.Tool
	dialled        = clitest.Dialled
	writeInput     = clitest.WriteInput
	wellFormed     = clitest.WellFormed
)

type (
	dedupResult = clitest.DedupResult
	answers     = clitest.Answers
	cutInput    = clitest.CutInput
	record      = clitest.Record
	seen        = clitest.Seen
)

// sample is clitest.Sample.
func sample[T any](n int, cases []T) []T { return clitest.Sample(n, cases) }

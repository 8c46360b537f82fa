// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
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
	needTcpdump = clitest.NeedTcpdump
	runDedup    = clitest.RunDedup
	writePart   = clitest.WritePart
	sharedDir   = clitest.SharedDir
	sharedFiles = clitest.SharedFiles
	exitOf      = clitest.ExitOf

	readAll        = clitest.ReadAll
	compareRecords = clitest.CompareRecords
	randomStream   = clitest.RandomStream
	overrule       = clitest.Overrule
	rotatedFiles   = clitest.RotatedFiles
	needTshark     = clitest.NeedTshark
	fieldsOf       = clitest.FieldsOf
	packetBytes    = clitest.PacketBytes
	commentsOf     = clitest.CommentsOf
	fileSize       = clitest.FileSize
	writeStream    = clitest.WriteStream
	readStream     = clitest.ReadStream
	tagsOf         = clitest.TagsOf
	payloadAt      = clitest.PayloadAt
)

type (
	preferredCounts = clitest.PreferredCounts
	dedupResult     = clitest.DedupResult
	truth           = clitest.Truth
	record          = clitest.Record
	seen            = clitest.Seen
)

// sample is clitest.Sample.
func sample[T any](n int, cases []T) []T { return clitest.Sample(n, cases) }

// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// What tests of Linux share has short names here.
var (
	entries       = clitest.Entries
	smallDisk     = clitest.SmallDisk
	fill          = clitest.Fill
	memoryCgroup  = clitest.MemoryCgroup
	setStage      = clitest.SetStage
	awaitOpen     = clitest.AwaitOpen
	privateMounts = clitest.PrivateMounts
	badEnds       = clitest.BadEnds
	awaitSocket   = clitest.AwaitSocket
	awaitSockets  = clitest.AwaitSockets
)

const (
	newName   = clitest.NewName
	olderFile = clitest.OlderFile
	inPlace   = clitest.InPlace
	bindMount = clitest.BindMount
	noReader  = clitest.NoReader

	listening   = clitest.Listening
	established = clitest.Established
)

type (
	place  = clitest.Place
	badEnd = clitest.BadEnd
	stage  = clitest.Stage
)

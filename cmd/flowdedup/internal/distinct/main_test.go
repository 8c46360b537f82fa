// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"testing"
	_ "time/tzdata" // zones are needed on machines without them, too

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

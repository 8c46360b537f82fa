// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestScripts(t *testing.T) { clitest.Scripts(t, nil) }

// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// SPDX-License-Identifier: Apache-2.0

// Package clitest runs command lines for tests of commands, in the process of the test or in a
// process of their own, and reads what they print.
package clitest

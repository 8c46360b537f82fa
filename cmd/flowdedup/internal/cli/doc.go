// SPDX-License-Identifier: Apache-2.0

// Package cli is what commands share: groups of flags and their rules, help, exit codes,
// signals, messages and progress. Commands check the user's input, and pass it on.
package cli

// SPDX-License-Identifier: Apache-2.0

// Package cli is what commands share: groups of flags and what they must not be together, help,
// exit codes, signals, messages and progress. Commands check what the user wrote, and pass it on.
package cli

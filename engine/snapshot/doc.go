// SPDX-License-Identifier: Apache-2.0

// Package snapshot writes and reads what filters remember. A snapshot has a list of the
// filter's numbers (Fields) and its lines, and is sealed under the secret that the
// digests were made with. Filters have a method Snapshot that takes an io.Writer, and a
// function that restores them.
package snapshot

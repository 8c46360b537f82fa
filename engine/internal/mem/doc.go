// SPDX-License-Identifier: Apache-2.0

// Package mem has what filters in arenas share: checks, sizes, and populating memory
// before its use.
package mem

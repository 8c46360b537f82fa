// SPDX-License-Identifier: Apache-2.0

// Package bitset has what verdicts need: bits in words.
package bitset

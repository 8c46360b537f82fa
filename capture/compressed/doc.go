// SPDX-License-Identifier: Apache-2.0

// Package compressed reads inputs that may be compressed with gzip, zstd or lz4, or with two of
// these in turn. The first bytes decide; names do not count. All readers of inputs
// use this package, so all accept the same, and report the same damage.
package compressed

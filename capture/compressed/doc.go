// SPDX-License-Identifier: Apache-2.0

// Package compressed reads inputs that may be compressed with gzip, zstd or lz4, or with two
// of these one over the other. The first bytes tell; names do not count. Everything that
// reads inputs reads them through this package, so all accept the same, and say the same
// about what is damaged.
package compressed

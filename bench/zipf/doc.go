// SPDX-License-Identifier: Apache-2.0

// Package zipf draws numbers by Zipf's law, for the streams that filters are measured on.
// Unlike math/rand's generator it supports exponents of 1 and less.
package zipf

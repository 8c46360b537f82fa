// SPDX-License-Identifier: Apache-2.0

// Package permute scatters IPv4 addresses with a keyed permutation of the 32-bit words.
//
// It chooses no lines (asm/line does) and hides nothing from someone who sees its
// outputs.
//
//	question                function              contract       plain twin
//	where an address goes   Bijection.Permute     bijection.go   bijection_generic.go
//	where it came from      Bijection.Invert      bijection.go   bijection_generic.go
package permute

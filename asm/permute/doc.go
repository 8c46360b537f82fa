// Package permute scatters IPv4 addresses with a keyed permutation of the 32-bit words.
//
//	question                function              contract       plain twin
//	where an address goes   Bijection.Permute     bijection.go   bijection_generic.go
//	where it came from      Bijection.Invert      bijection.go   bijection_generic.go
package permute

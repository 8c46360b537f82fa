// SPDX-License-Identifier: Apache-2.0

// Package digest computes keyed digests of 128 bits, many at a time.
//
//	question                                   function               contract     plain twin
//	digest of a key of 16 or 48 bytes          AES.Sum16, AES.Sum48   aes.go       aes_generic.go
//	digest of messages with AES                AES.SumMessages        aes.go       aes_generic.go, polyval.go
//	digest of messages with HighwayHash        Highway.SumMessages    highway.go   highway_generic.go
//
// Digests are the same on every CPU. Functions panic if dst is too short or a message is
// not in its buffer, and return no errors. dispatch_amd64.go and dispatch_arm64.go say
// which kernel runs at which level. highway_order.go sorts messages by length for kernels
// that take several side by side. The package does not know what a message means: that is
// capture/flow.
package digest

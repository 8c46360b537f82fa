// SPDX-License-Identifier: Apache-2.0

// Package keys makes the keys that are counted, as records of fixed size: addresses, pairs of
// addresses, flows, and hardware addresses.
//
// A [Keyer] makes keys of one or more kinds in one pass over the frames of a batch. FromFrames
// reads frames; FromHeaders reads frames that a headers.Decoder has described; FromKeys makes
// keys from larger keys, where [Config.Determines] allows it. The buffers of a Keyer stay from
// call to call. An invalid [Config] is an error of Validate, and a panic of NewKeyer.
package keys

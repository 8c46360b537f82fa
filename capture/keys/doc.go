// SPDX-License-Identifier: Apache-2.0

// Package keys makes the keys that are counted, as records of fixed size: addresses, pairs of
// addresses, flows, and hardware addresses.
//
//	made := keys.NewKeyer([]keys.Config{{Kind: keys.Src}}, headers.DecoderConfig{}).FromFrames(b, 0, len(b.Frames))
//
// A [Keyer] makes keys of several kinds in one pass over the frames of a batch. FromFrames
// reads frames; FromHeaders reads frames that a headers.Decoder has described; FromKeys makes
// keys from larger keys, where [Config.Determines] allows it. The buffers of a Keyer stay from
// call to call. An invalid [Config] is an error of Validate, and a panic of NewKeyer.
//
//	question                                  file
//	kinds of key; how keys are printed        keys.go
//	Community ID                              community.go
//	from frames to lists of headers           keyer.go, placed.go
//	from lists to keys                        maker.go
//	ports of fragments behind the first       fragments.go
package keys

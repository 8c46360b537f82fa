// SPDX-License-Identifier: Apache-2.0

// Package dedup implements "flowdedup dedup": its flags, the run that connects sources,
// identities, digests, a filter and outputs, and its results. live shares its groups of flags
// and its Detector.
//
//	question                                file
//	the command, its flags and rules        flags.go
//	--keep, --prefer, --only, --strip, ...  flags_keep.go; capture/dedup decides
//	--window, --identity, --within, ...     cli/copies.go
//	--method; --param                       cli/common.go; flags_compare.go, params.go
//	--hub; --for                            flags_hub.go; flags_for.go, cli/reader.go
//	the filter, and how much memory it has  config.go
//	the Detector of a run                   detector.go, conditions.go
//	the way of a batch                      run.go
//	filters that are saved and restored     save.go
//	the result as JSON                      summary.go, timeline.go
//	the same as text; as a page             text.go, warn.go; page.go
package dedup

// SPDX-License-Identifier: Apache-2.0

// Package input opens the captures and networks that a command line names (open.go,
// network.go). A [Stream] takes the packets that pass the filter (filter.go, matcher.go) and are of the wanted part (part.go)
// through workers as one stream (see capture/pipeline).
//
// A signal is answered while a pipe is silent.
package input

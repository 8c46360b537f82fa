// SPDX-License-Identifier: Apache-2.0

// Package cli holds what commands share: groups of flags and their rules, help, exit codes,
// signals, messages and progress. Commands check the user's input, and pass it on.
//
//	question                                 file
//	a flag: help, completion, rules          flag.go, help.go
//	values: sizes, durations, lists          values.go
//	flags that several commands have         common.go, copies.go, filter.go, keys.go, net.go,
//	                                         page.go, part.go, ring.go
//	programs that packets are for (--for)    reader.go
//	names of files                           files.go
//	exit codes and signals                   exit.go
//	messages, warnings and progress          messages.go
//	mistyped words, habits from other tools  mistyped.go, habits.go
//	standard streams, memory                 env.go
package cli

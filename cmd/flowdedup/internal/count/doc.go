// SPDX-License-Identifier: Apache-2.0

// Package count counts the distinct keys of packets with [windows.Counter], for distinct and
// live, and makes rows of the counts.
//
//	question                         file
//	which keys, methods and windows  config.go
//	the way of a batch               packets.go
//	the fields of a row, its JSON    row.go
//	rows of windows without packets  gaps.go
//	rankings of keys                 top.go
//	files of counts                  save.go
package count

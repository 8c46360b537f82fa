// SPDX-License-Identifier: Apache-2.0

// Package relay sends the messages of flow exporters on without the records that are copies. A
// [Cutter] takes the bytes of these records out and corrects lengths, counts and sequence
// numbers. Nothing is encoded anew: templates, options and undecodable sets stay as they are.
// A [Sender] sends the messages to collectors over UDP, with its own address or with the
// exporter's. The example of package match cuts copies out.
//
//	question                         file
//	messages without copies          cut.go
//	sending; addresses of exporters  send.go; spoof_linux.go
package relay

// SPDX-License-Identifier: Apache-2.0

// Package export reads the messages of flow exporters: NetFlow v1, v5, v7 and v9 (RFC 3954), IPFIX
// (RFC 7011), and sFlow v5. A [Reader] takes packets of any capture.Source and finds the
// messages in their UDP payloads: the example of package match shows it. A [Stream] makes packets of IPFIX files (RFC 5655) and
// of IPFIX over TCP.
//
// Data records are read by offsets that are compiled from their template, and stay where they
// are: a record has the place of its bytes in the message, so package relay can take it out.
// Nothing is allocated for a record.
//
// Exporters are not trusted. Messages may lie about lengths, come twice, late or never, and
// name templates that nobody has seen. Memory is bounded whatever comes.
// Messages whose template is missing are kept until it comes. Messages kept for too long, or
// beyond the bound, are returned without the records that cannot be read.
//
//	question                                file
//	from packets or streams to messages     stream.go, header.go
//	records of a message                    netflow.go, sflow.go; reader.go calls these
//	templates; messages that wait for them  template.go
//	fields of a record                      fields.go, values.go
//	exporters; what is known of each        source.go
//	lost, repeated and reordered messages   sequence.go, life.go, seen.go
//	saved state                             state.go
package export

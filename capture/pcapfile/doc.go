// SPDX-License-Identifier: Apache-2.0

// Package pcapfile reads and writes packet captures in batches. Its example copies a capture
// without every second packet.
//
// # Reading
//
// [Open] reads pcap and pcapng files, pipes and standard input. They may be compressed
// with gzip, zstd or lz4, or with two of these in turn. It recognizes formats
// by their first bytes, not by names. [NewReader] does the same for any io.Reader. [Merge]
// makes one Source of several, in the order of packet times; [Concat] reads them in turn. [Park]
// closes files until they are read.
//
// The formats are defined by draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng, with the
// older variants that libpcap reads: both byte orders, microseconds and nanoseconds, the
// modified format with 24-byte records, swapped lengths of versions before 2.4, obsolete and
// simple packet blocks, any if_tsresol and if_tsoffset.
//
// A read goes straight into capture.Batch.Buf. Frames and Blocks locate packets and blocks in it.
// Time is proportional to the bytes and packets. Memory is one chunk (256 KiB unless Options say
// otherwise) and the frames that describe it, or of the longest record if that is longer.
//
// # Limits
//
// Inputs are not trusted. No length field sizes an allocation before its bytes have
// arrived. Every length has a limit: 256 KiB for a captured packet (128 MiB on buses and
// message transports), 128 MiB and its options for a block, 64 MiB for all descriptions of
// sections and interfaces, 128 MiB for a window of zstd.
//
// A pcap file does not mark where its records end. So two records in a row without time,
// length and captured bytes are damage, and so is such a record with zeros behind it to the end.
//
// # Errors
//
// Damage ends an input with a [capture.InputError], a failed read with a
// [capture.ReadError]. Both come after everything sound before them. Test reasons with
// errors.Is: [capture.ErrEmpty], [capture.ErrUnknownFormat], [capture.ErrTruncated],
// [capture.ErrDamaged], [capture.ErrNotSupported]. Options.Warn gets the damage after which
// reading goes on.
//
// # Writing
//
// [NewWriter] writes the batches of a Source, without the frames that a bitmap drops. It
// copies records byte for byte if the format of the input can stay, and converts them
// otherwise. [NewSplitter] writes several files, each of which can be read without the
// others. Package rotate builds on it.
//
//	question                                    file
//	an input and its compression                open.go, input.go, ahead.go
//	records of pcap; blocks of pcapng           reader.go; pcap_reader.go; pcapng_*.go
//	times that cannot be right                  times.go
//	several inputs as one                       join.go, merge.go, rotation.go
//	inputs that begin while others are read     arrivals.go, arrivals_read.go, arrivals_tables.go
//	packets sorted by time                      sort.go, sort_store.go
//	the format of an output                     layout.go
//	outputs: a stream; in parts; encoded ahead  writer.go; encoder.go; writer_records.go
//	records copied as they were read            writer_copy.go
//	records converted                           writer_pcap.go, writer_pcapng*.go
//	the calls of Write                          buffer.go
package pcapfile

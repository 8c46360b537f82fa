// SPDX-License-Identifier: Apache-2.0

package rotate

import "github.com/flowdedup/flowdedup/capture/pcapfile"

// File is a capture.Writer to a series of files. Each can be read without the others, and
// appears under its name only when it is complete: see outfile.File.
//
// The files are the output of pcapfile.NewWriter, cut between packets. In order they hold
// the same packets and blocks, each packet in the same bytes. Each file begins with the file
// header, or with the section header and the descriptions of interfaces that its packets
// need. It repeats name resolution and decryption secrets blocks of the section, up to
// 1 MiB of them. All other blocks are only where they were. The cuts depend neither on the
// batches of the stream nor on its speed. Headers without packets make no file.
//
// A file ends before the packet or block that would take it beyond Size, and before the
// first packet of a later interval. Packets without a time, and packets from before the
// interval, go to the file being written.
//
// A false time does not end a file. An interval is an outlier if it begins more than a minute
// before the interval being written, or more than a year after it. If Tick gives the wall clock, the
// bound is a minute instead of a year, after both the interval and the clock. An interval
// longer than the minute or the year takes its place. Packets of an outlier go to the file
// being written, until a calendar.Clock accepts their time. Then a new file begins, and
// rotation goes on from there.
//
// The name of a file is the name given to New with the time of the file's first packet in
// its interval, in UTC: cap.pcapng becomes cap-20261121T220000.000Z.pcapng. Before the first
// time, all digits are 0. Times in names go back only with the interval. A name that is
// taken gets a number, as in cap-20261121T220000.000Z_002.pcapng: no file is replaced.
//
// With Options.Every, a name with a % is a template, as tcpdump has it: strftime puts the same
// time into it, in the local zone. cap-%Y%m%d-%H%M%S.pcap becomes cap-20261121-230000.pcap.
// Such files are removed in the order of these times, or in which they were written last if the
// template does not say the day.
//
// A file is completed while the next file is written, so a slow disk does not delay Write.
// Before a third file, Write waits for it.
//
// An error ends the file being written, even an error of the file before. Its packets stay
// under a name with ".partial" before its ending. Complete files stay. After Retry, Write
// begins a new file. So a capture can outlast a full disk:
//
//	err := r.Write(b, drop) // every batch, also while it fails
//	if err != nil && time.Since(tried) > 5*time.Second {
//		tried = time.Now()
//		r.Retry()
//	}
//
// A File is for one goroutine. Either Commit or Discard must be called.
type File struct {
	*series
	splitter *pcapfile.Splitter // nil until the stream has a section
	enc      *pcapfile.Encoder  // of series.file
}

// New checks that files can be made in the folder of name. It makes none: the first file
// begins with the first packet or block.
//
// For standard output, devices, pipes, sockets and folders the error wraps
// ErrCannotRotate, and if a number is negative. Other errors are an *fs.PathError.
func New(name string, opt Options) (*File, error) {
	s, err := newSeries(name, opt)
	if err != nil {
		return nil, err
	}
	return &File{series: s}, nil
}

// Skipped returns how many blocks of the stream could not be converted.
func (r *File) Skipped() uint64 {
	n := uint64(0)
	if r.splitter != nil {
		n = r.splitter.Skipped()
	}
	if r.file != nil {
		n += r.enc.Skipped()
	}
	return n
}

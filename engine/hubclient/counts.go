// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Counts returns the subject of a site's files of counts. Slice and Op do not matter.
func (s Subject) Counts() string {
	return fmt.Sprintf("fd.%s.%s.%d.counts.%s", s.Namespace, s.Filter, s.Epoch, s.Site)
}

// CountsPart is a piece of a file of distinct counts (package countfile) on its way to
// the hub. Each piece is a request, and the answer a CountsReply. A site sends one file
// after another, and a file piece by piece: the first piece is empty and offers the file.
type CountsPart struct {
	ID     [sha256.Size]byte // SHA-256 of the file
	Size   int64             // of the file
	Start  int64             // of its window, in nanoseconds since 1970 UTC
	Offset int64
	Data   []byte
}

// maxCountsData bounds the data of a piece. Digests may wait behind a piece: 5 ms at 100
// Mbit/s.
const maxCountsData = 64 << 10

const (
	countsMagic   = "FC"
	countsVersion = 1
	countsHeader  = 4 + sha256.Size + 3*8
)

// Append appends the message to b.
func (p *CountsPart) Append(b []byte) []byte {
	b = append(b, countsMagic...)
	b = append(b, countsVersion, 0)
	b = append(b, p.ID[:]...)
	for _, v := range []int64{p.Size, p.Start, p.Offset} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return append(b, p.Data...)
}

// Decode reads a message. Data is a part of it. Errors wrap ErrMessage or ErrVersion.
func (p *CountsPart) Decode(msg []byte) error {
	if len(msg) < countsHeader || string(msg[:2]) != countsMagic || len(msg) > countsHeader+maxCountsData {
		return ErrMessage
	}
	if msg[2] != countsVersion {
		return ErrVersion
	}
	copy(p.ID[:], msg[4:])
	fields := msg[4+sha256.Size:]
	for i, to := range []*int64{&p.Size, &p.Start, &p.Offset} {
		*to = int64(binary.LittleEndian.Uint64(fields[8*i:]))
	}
	p.Data = msg[countsHeader:]
	if p.Size < 0 || p.Offset < 0 || p.Offset > p.Size || int64(len(p.Data)) > p.Size-p.Offset {
		return ErrMessage
	}
	return nil
}

// CountsReply is the answer to a CountsPart.
type CountsReply struct {
	Next    int64  `json:"next"`              // offset of the piece that the hub wants next; the size when it has all
	Refused string `json:"refused,omitempty"` // reason why it takes no piece of the file
	Later   bool   `json:"later,omitempty"`   // with Refused: it may take the file another time
}

// Encode returns the reply as a message.
func (r CountsReply) Encode() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic("hubclient: " + err.Error()) // a number and a text always encode
	}
	return text
}

// ErrCounts is wrapped by errors with the reason why the hub does not take a file of
// counts.
var ErrCounts = errors.New("the hub does not take these counts")

// ErrCountsNow is wrapped by errors with the reason why the hub does not take a file of
// counts now, but may later, as while its disk is full.
var ErrCountsNow = errors.New("the hub does not take counts now")

// errBroken means that the hub has forgotten the pieces that it had.
var errBroken = errors.New("the hub begins again")

// SendCounts sends a file of counts, whose window starts at start, to the hub. ask sends
// a request, and returns the answer. A file that the hub already has costs one request,
// and an interrupted upload continues where it stopped. Errors wrap ErrCounts if the file
// will not be taken, and ErrCountsNow if it may be taken later; other errors come from
// reading, ask and ctx.
func SendCounts(ctx context.Context, from io.ReaderAt, size, start int64, ask func(msg []byte) ([]byte, error)) error {
	p := CountsPart{Size: size, Start: start}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(from, 0, size)); err != nil {
		return err
	}
	copy(p.ID[:], sum.Sum(nil))
	var msg, data []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		msg = p.Append(msg[:0])
		text, err := ask(msg)
		if err != nil {
			return err
		}
		var reply CountsReply
		if json.Unmarshal(text, &reply) != nil || reply.Next < 0 || reply.Next > size {
			return ErrMessage
		}
		switch {
		case reply.Refused != "" && reply.Later:
			return fmt.Errorf("%w: %s", ErrCountsNow, reply.Refused)
		case reply.Refused != "":
			return fmt.Errorf("%w: %s", ErrCounts, reply.Refused)
		case reply.Next == size:
			return nil
		case p.Data != nil && reply.Next <= p.Offset:
			return errBroken
		}
		if data == nil {
			data = make([]byte, maxCountsData)
		}
		p.Offset, p.Data = reply.Next, data[:min(maxCountsData, size-reply.Next)]
		if _, err := from.ReadAt(p.Data, p.Offset); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// Report is a site's report to the hub about itself, sent every few seconds as JSON on
// Subject.Report. Counts cover the site's run so far. There is no reply.
type Report struct {
	Packets     uint64  `json:"packets"`       // packets that the site has seen
	CopiesLocal uint64  `json:"copies_local"`  // of these, copies by the site's own filter
	CopiesHub   uint64  `json:"copies_hub"`    // copies by the hub
	Unchecked   uint64  `json:"unchecked"`     // packets passed on, as no answer came in time
	RTTP99US    float64 `json:"rtt_p99_us"`    // 99 % of recent answers came within this time in microseconds
	Run         string  `json:"run,omitempty"` // changes where counts begin again
}

// Encode returns the report as a message.
func (r Report) Encode() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic("hubclient: " + err.Error()) // only for numbers that are not finite
	}
	return text
}

// maxRun is the longest name of a run, in bytes.
const maxRun = 64

// DecodeReport reads a message. Errors wrap ErrMessage.
func DecodeReport(msg []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(msg, &r); err != nil || len(r.Run) > maxRun {
		return Report{}, ErrMessage
	}
	return r, nil
}

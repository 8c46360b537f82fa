package workload

import (
	"bufio"
	"io"
	"strconv"
)

// copyList writes which packets show an earlier one again: after a heading, a line
// for each with its number, that of its original, and its kind. Packets are
// numbered from 0 in the order of the file.
type copyList struct {
	w    *bufio.Writer
	line []byte
}

// newCopyList returns a list that goes to w; without w it goes nowhere.
func newCopyList(w io.Writer) *copyList {
	if w == nil {
		w = io.Discard
	}
	l := &copyList{w: bufio.NewWriterSize(w, 1<<16)}
	l.w.WriteString("packet,original,kind\n") // the first error comes back from Flush
	return l
}

func (l *copyList) add(number, original int64, kind Kind) {
	b := strconv.AppendInt(l.line[:0], number, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, original, 10)
	b = append(b, ',')
	b = append(b, kind.String()...)
	l.line = append(b, '\n')
	l.w.Write(l.line)
}

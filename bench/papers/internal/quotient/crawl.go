// SPDX-License-Identifier: Apache-2.0

package quotient

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// list is a stream of elements from 0 to below distinct.
type list struct {
	elements []uint64
	distinct int
}

// readList numbers the lines of a text.
func readList(r io.Reader) (l list, err error) {
	numbers := map[string]uint64{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		number, found := numbers[lines.Text()]
		if !found {
			number = uint64(len(numbers))
			numbers[lines.Text()] = number
		}
		l.elements = append(l.elements, number)
	}
	l.distinct = len(numbers)
	return l, lines.Err()
}

// sums returns the sums of the rates of QHT and QQHTD of Table 5, for as many elements as it has.
func (l list) sums(s shape) (qht, queued float64) {
	l.elements = l.elements[:min(len(l.elements), smallElements)]
	both := l.scores(result.Must(paper.NewQHT(s.config(1))), result.Must(paper.NewQQHTD(s.config(1))))
	return percent(both[0]).sum(), percent(both[1]).sum()
}

func (l list) scores(filters ...paper.Filter) []stream.Score {
	at := -1
	next := stream.Elements(func() uint64 { at++; return l.elements[at] })
	return next.Source(l.distinct, 1).Scores(len(l.elements), filters...)
}

// Crawl gives a list of URLs, one in a line, to the filters of Tables 2 and 4 in place of the crawl
// of 150 million, and writes their rates. Memory is the printed sizes in proportion to the length.
// Table 5 is of the first URLs, as many as it has.
func Crawl(urls io.Reader, w io.Writer) error {
	l, err := readList(urls)
	if err != nil {
		return err
	}
	scale := float64(len(l.elements)) / gridElements
	fmt.Fprintf(w, "%d URLs, %d of them different\n", len(l.elements), l.distinct)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "bits, printed\tbits\trates in %")
	for _, c := range printedColumns {
		fmt.Fprint(t, "\t", c.name)
	}
	for _, memory := range memories {
		bits := int(float64(memory) * scale)
		if bits < leastBits {
			fmt.Fprintf(t, "\n%d\t%d\ttoo few URLs", memory, bits)
			continue
		}
		var filters []paper.Filter
		for _, c := range printedColumns {
			filters = append(filters, c.make(given{memory: bits, window: max(1, int(gridWindow*scale)), kicks: gridKicks, seed: 1}))
		}
		fmt.Fprintf(t, "\n%d\t%d\tFPR + FNR", memory, bits)
		for _, s := range l.scores(filters...) {
			r := percent(s)
			fmt.Fprintf(t, "\t%.2f + %.2f = %.2f", r.fpr, r.fnr, r.sum())
		}
	}
	fmt.Fprintln(t)
	for _, s := range shapes[1:] {
		qht, queued := l.sums(s)
		fmt.Fprintf(t, "Table 5, k=%d, s=%d\t%d\tFPR + FNR\tQHT %.2f\tQQHTD %.2f\n", s.cells, s.bits, smallMemory, qht, queued)
	}
	return t.Flush()
}

// leastBits is the least memory in which the filters have some rows.
const leastBits = 200

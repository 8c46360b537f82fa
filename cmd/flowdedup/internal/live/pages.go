package live

import "io"

// pageSize is of a page of pages.
const pageSize = 1 << 20

// pages is a buffer that takes no more memory than it was filled to, by a page, and moves
// nothing as it grows. It keeps its memory.
type pages struct {
	all  [][]byte
	size int
}

func (p *pages) reset() { p.size = 0 }

// Write appends data, and never fails.
func (p *pages) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		page, at := p.size/pageSize, p.size%pageSize
		if page == len(p.all) {
			p.all = append(p.all, make([]byte, pageSize))
		}
		n := copy(p.all[page][at:], rest)
		rest = rest[n:]
		p.size += n
	}
	return len(data), nil
}

// WriteTo writes everything to w, and keeps it.
func (p *pages) WriteTo(w io.Writer) (written int64, err error) {
	for left := p.size; left > 0; left -= pageSize {
		page := p.all[(p.size-left)/pageSize]
		n, err := w.Write(page[:min(left, pageSize)])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

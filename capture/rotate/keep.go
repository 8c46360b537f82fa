// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// Overlap reports whether files of two rotating outputs could get the same name.
func Overlap(a, b string, every time.Duration) bool {
	x, y := newNames(a, every), newNames(b, every)
	return sameFolder(a, b) && outfile.Overlap(x.pattern(), y.pattern())
}

// Fits reports whether a file has a name that a file of a rotating output could get, by its own path
// or where symbolic links lead.
func Fits(output, file string, every time.Duration) bool {
	n := newNames(output, every)
	pattern := n.pattern()
	return slices.ContainsFunc([]string{file, outfile.FinalPath(file)}, func(path string) bool {
		return pattern.MatchString(filepath.Base(path)) && sameFolder(output, path)
	})
}

// sameFolder reports whether two files are in the same folder. It returns false for folders that
// cannot be looked up: nothing can be written to them.
func sameFolder(a, b string) bool {
	x, errX := os.Stat(filepath.Dir(a))
	y, errY := os.Stat(filepath.Dir(b))
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// InputInfos describes the inputs that are there, for Options.Inputs. The name "-" is standard input.
func InputInfos(names []string) (all []fs.FileInfo) {
	for _, name := range names {
		stat := func() (fs.FileInfo, error) { return os.Stat(name) }
		if name == "-" {
			stat = os.Stdin.Stat
		}
		if info, err := stat(); err == nil {
			all = append(all, info)
		}
	}
	return all
}

// keptFile is a complete file of a series.
type keptFile struct {
	outfile.MadeFile
	time   string // in its name
	number int    // 1 where the name has none
}

// sorted returns files with the times and numbers of their names, the oldest first.
func (n *names) sorted(files []outfile.MadeFile) (all []*keptFile) {
	for i := range files {
		f := &keptFile{MadeFile: files[i], time: files[i].Match[1]}
		f.number, _ = strconv.Atoi(f.Match[2])
		f.number = max(f.number, 1)
		if n.template {
			f.time = n.timeOf(f.Match[1], f.Modified).UTC().Format(sortable)
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b *keptFile) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.number, b.number), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// prune removes the oldest files of the series beyond the number and bytes to keep. It warns once of
// a file that it cannot remove, and removes the next file instead.
func (r *series) prune() {
	if !r.prunes() {
		return
	}
	made, others, err := r.made.Files()
	if err != nil {
		r.warn(err)
	}
	if others > 0 && !r.saidOthers {
		r.saidOthers = true
		r.warn(fmt.Errorf("%d files that fit the name are not of this output, so they stay", others))
	}
	files := r.names.sorted(made)
	left, size := len(files), int64(0)
	for i := range files {
		size += files[i].Size
	}
	for i := 0; i < len(files)-1 && r.exceedsKeep(left, size); i++ {
		if r.remove(&files[i].MadeFile) {
			left--
			size -= files[i].Size
		}
	}
}

func (r *series) prunes() bool { return r.opt.Keep > 0 || r.opt.KeepBytes > 0 }

func (r *series) exceedsKeep(files int, size int64) bool {
	return r.opt.Keep > 0 && files > r.opt.Keep || r.opt.KeepBytes > 0 && size > r.opt.KeepBytes
}

// remove reports whether a file is gone.
func (r *series) remove(f *outfile.MadeFile) bool {
	err := r.made.Remove(f, r.opt.Inputs)
	if err != nil && !r.unremovable[f.Name] {
		r.unremovable[f.Name] = true
		r.warn(fmt.Errorf("an old file stays: %w", err))
	}
	return err == nil
}

func (r *series) warn(err error) {
	if r.opt.Warn != nil {
		r.opt.Warn(err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// outputs are where the counts of a run go.
type outputs struct {
	out   *bufio.Writer // standard output
	json  *jsonLines
	table *textTable
	file  *outfile.File
	csv   *csvLines
	html  cli.PageFile
	page  *countsPage      // nil without --html
	saved *count.SavedFile // nil without --save

	sketched  int    // rows whose counters became sketches
	withoutIP uint64 // packets in no row of addresses
}

func (f *flags) openOutputs(cmd *cobra.Command, e *cli.Env, inputs []string) (*outputs, error) {
	o := &outputs{out: bufio.NewWriterSize(e.Stdout, 1<<16)}
	switch {
	case f.JSON:
		o.json = newJSONLines(o.out)
	case f.showsTable():
		o.table = newTextTable(o.out, e.Columns(e.Stdout), f.columns())
	}
	if f.list && o.table != nil { // standard output is the list
		o.table = newTextTable(e.Stderr, e.Columns(e.Stderr), f.columns())
	}
	var err error
	if o.html, err = f.page.Open(cmd, inputs); err != nil {
		return nil, err
	}
	if f.page.Given() {
		o.page = &countsPage{}
	}
	if f.csv == "" {
		return o, nil
	}
	ctx := cmd.Context()
	file, err := outfile.Create(ctx, f.csv, outfile.Options{})
	if err != nil {
		return nil, errors.Join(err, o.html.Discard())
	}
	csv, err := newCSVLines(sink.NewInterruptibleWriter(ctx, f.csv, file), f.columns())
	if err != nil {
		return nil, errors.Join(err, file.Discard(), o.html.Discard())
	}
	o.file, o.csv = file, csv
	return o, nil
}

// showsTable reports whether standard output gets the table. With --quiet it does unless
// --list, --csv or --html prints the result, so that scripts find no table in it.
func (f *flags) showsTable() bool {
	return !f.Quiet || !f.list && f.csv == "" && !f.page.Given()
}

func (o *outputs) rows(rows []count.Row) error {
	var errs []error
	for i := range rows {
		if rows[i].Method == "sketch" && rows[i].Family != "all" {
			o.sketched++
		}
	}
	if o.json != nil {
		errs = append(errs, o.json.Rows(rows))
	}
	if o.table != nil {
		errs = append(errs, o.table.writeRows(rows))
	}
	if o.csv != nil {
		errs = append(errs, o.csv.writeRows(rows))
	}
	if o.page != nil {
		o.page.addRows(rows)
	}
	return errors.Join(errs...)
}

// withoutPorts writes how many packets are in flows whose ports were not captured.
func (o *outputs) withoutPorts(n uint64) error {
	if o.json == nil {
		return nil
	}
	return o.json.withoutPorts(n)
}

// sighting writes a first sighting: as text, on a line of standard output.
func (o *outputs) sighting(s *count.First) error {
	if o.json != nil {
		return o.json.sighting(s)
	}
	_, err := o.out.Write(append(s.AppendText(o.out.AvailableBuffer()), '\n'))
	return err
}

// close completes the outputs after a clean end. After any other end it keeps the rows so
// far in a new file if the named one exists.
func (o *outputs) close(clean, read bool, filtered uint64) error {
	var err error
	if o.table != nil && (clean || read) {
		err = o.table.close(filtered, o.withoutIP)
	}
	if o.saved != nil {
		err = errors.Join(err, o.saved.Close(clean, read))
	}
	return errors.Join(err, o.out.Flush(), o.closeCSV(clean, read), o.closePage(clean || read))
}

// closePage writes the page, if anything was read.
func (o *outputs) closePage(read bool) error {
	if !read {
		return o.html.Discard()
	}
	return o.html.Write(true, func(cli.Origin) *page.Page {
		o.page.withoutIP = o.withoutIP
		return o.page.page()
	})
}

func (o *outputs) closeCSV(clean, read bool) error {
	switch {
	case o.csv == nil:
		return nil
	case clean:
		return o.file.Commit()
	case read:
		return sink.KeepFile(o.file, nil)
	}
	return o.file.Discard()
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "contest:", err)
		os.Exit(1)
	}
}

// errUsage is wrapped by errors about arguments.
var errUsage = errors.New("usage: contest make|judge|run [flags]; contest COMMAND -h lists them")

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "make":
		return runMake(args[1:])
	case "judge":
		return runJudge(args[1:], out)
	case "run":
		return runAll(args[1:], out)
	}
	return fmt.Errorf("%w: %s", errUsage, args[0])
}

func runMake(args []string) error {
	flags := flag.NewFlagSet("make", flag.ContinueOnError)
	dir := flags.String("o", "", "write into this folder")
	packets := flags.Int("packets", 20_000, "approximate number of records in each capture")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" || *packets < 100 || flags.NArg() > 0 {
		return fmt.Errorf("%w: make needs -o and at least 100 packets", errUsage)
	}
	if err := os.MkdirAll(*dir, 0o777); err != nil {
		return err
	}
	_, err := makeAll(*dir, *packets)
	return err
}

func runJudge(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("judge", flag.ContinueOnError)
	list := flags.String("list", "", "the list of the capture (default: CAPTURE.csv)")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return fmt.Errorf("%w: judge needs CAPTURE and OUTPUT", errUsage)
	}
	lines, err := readList(cmp.Or(*list, listFile(flags.Arg(0))))
	if err != nil {
		return err
	}
	known, err := newTruth(flags.Arg(0), lines)
	if err != nil {
		return err
	}
	v, err := known.judge(flags.Arg(1))
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(out).Encode(v)
	}
	_, err = io.WriteString(out, v.text(known))
	return err
}

// runAll gives every capture to every program that is there.
func runAll(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	pcaps := flags.String("pcaps", "testdata/pcaps", "folder of the captures of real programs")
	page := flags.String("page", "", "replace the contest's section of this page")
	c := contest{}
	flags.IntVar(&c.packets, "packets", 20_000, "approximate number of records in each capture (0: do not judge)")
	flags.IntVar(&c.large, "large", 1_000_000, "records of the capture that measures processor time (0: do not measure)")
	flags.IntVar(&c.rounds, "rounds", 3, "times that each program is measured, in turn with the others")
	flags.StringVar(&c.revision, "revision", "", "the commit's name on the page")
	c.tools = tools
	flags.Func("tool", "one more program: 'NAME: COMMAND {in} {out}'", func(text string) error {
		t, err := parseTool(text)
		c.tools = append(c.tools, t)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.packets != 0 && c.packets < 100 || flags.NArg() > 0 || c.rounds < 1 {
		return fmt.Errorf("%w: run takes flags, no packets or at least 100, and a round", errUsage)
	}
	dir, err := os.MkdirTemp("", "contest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.leaveOut()
	if err := c.judgeAll(dir, filepath.Clean(*pcaps), *page, out); err != nil {
		return err
	}
	return c.measure(dir, out)
}

// judgeAll writes what the judge counts into the page, or to out if there is none.
func (c *contest) judgeAll(dir, pcaps, page string, out io.Writer) error {
	if c.packets == 0 {
		return nil
	}
	if err := c.judge(dir, pcaps); err != nil {
		return err
	}
	if page == "" {
		_, err := io.WriteString(out, c.section())
		return err
	}
	return replaceSection(page, c.section())
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tool is a program that removes copies.
type tool struct {
	name    string
	command []string // {in} and {out} stand for files
	flags   flags    // which flags are added to it
}

// flags say which flags of flowdedup are added.
type flags int

const (
	none      flags = iota
	manual          // the manual's flags for the capture's kind
	recommend       // the flags that flowdedup inspect recommends for the capture
)

// errTool is wrapped by errors about the value of -tool.
var errTool = errors.New("not 'NAME: COMMAND {in} {out}'")

// errAdvice is wrapped by errors about recommendations.
var errAdvice = errors.New("no command that writes a file is recommended")

// ours, then controls, then others. editcap writes pcapng by default, which keeps all
// clocks and interfaces. -I 26 leaves out the fields that routers change of IPv4 over
// Ethernet, and -I 30 the same behind a VLAN tag. nfpcapd takes no part: it writes flows.
var tools = []tool{
	parsed("flowdedup: flowdedup dedup -q {in} -w {out}"),
	{"flowdedup, flags of the manual", strings.Fields("flowdedup dedup -q {in} -w {out}"), manual},
	{"flowdedup, flags of inspect", strings.Fields("flowdedup dedup -q {in} -w {out}"), recommend},
	parsed("gopackets, a loop with gopacket: gopackets dedup {in} {out}"),
	parsed("tcpdump, removes nothing: tcpdump -r {in} -w {out} --time-stamp-precision nano"),
	parsed("editcap -d: editcap -d {in} {out}"),
	parsed("editcap -D 1000: editcap -D 1000 {in} {out}"),
	parsed("editcap -w 0.001: editcap -w 0.001 {in} {out}"),
	parsed("editcap -I 26 -w 0.001: editcap -I 26 -w 0.001 {in} {out}"),
	parsed("editcap -I 30 -w 0.001: editcap -I 30 -w 0.001 {in} {out}"),
}

// parseTool reads 'NAME: COMMAND {in} {out}'. Words are divided by spaces, without a shell.
func parseTool(text string) (tool, error) {
	name, command, ok := strings.Cut(text, ": ")
	t := tool{name: name, command: strings.Fields(command)}
	if !ok || name == "" || !strings.Contains(command, "{in}") || !strings.Contains(command, "{out}") {
		return t, fmt.Errorf("%q: %w", text, errTool)
	}
	return t, nil
}

// parsed is parseTool for the texts above.
func parsed(text string) tool {
	t, err := parseTool(text)
	if err != nil {
		panic(err)
	}
	return t
}

// there reports whether the program is installed.
func (t *tool) there() bool {
	_, err := exec.LookPath(t.command[0])
	return err == nil
}

// longest bounds a program's time for a capture.
const longest = 10 * time.Minute

// run runs the program on a capture, and returns its processor time.
func (t *tool) run(c *capture, output string) (time.Duration, error) {
	args := make([]string, 0, len(t.command)+len(c.flags))
	for _, word := range t.command {
		args = append(args, strings.NewReplacer("{in}", c.file, "{out}", output).Replace(word))
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	switch t.flags {
	case manual:
		args = append(args, c.flags...)
	case recommend:
		more, err := recommended(ctx, args[0], c.file)
		if err != nil {
			return 0, err
		}
		args = append(args, more...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, lastLine(string(text)))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// recommended runs flowdedup inspect, and returns the flags of the command that it
// recommends, without its files.
func recommended(ctx context.Context, program, file string) ([]string, error) {
	text, err := exec.CommandContext(ctx, program, "inspect", "--json", file).Output()
	if err != nil {
		return nil, fmt.Errorf("%s inspect %s: %w", program, file, err)
	}
	var answer struct {
		Recommendation struct{ Command string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("%s inspect %s: %w", program, file, err)
	}
	// flowdedup dedup FLAGS -w OUTPUT INPUT
	words := strings.Fields(answer.Recommendation.Command)
	output := slices.Index(words, "-w")
	if output < 2 {
		return nil, fmt.Errorf("%s inspect %s: %w: %q", program, file, errAdvice, answer.Recommendation.Command)
	}
	return words[2:output], nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// result is the outcome of a program on one capture.
type result struct {
	verdict
	err error // why there is no verdict
}

// try runs a program and judges its output.
func (t *tool) try(c *capture, known *truth, dir string) result {
	output := filepath.Join(dir, "out"+filepath.Ext(c.file))
	defer os.Remove(output)
	if _, err := t.run(c, output); err != nil {
		return result{err: err}
	}
	v, err := known.judge(output)
	return result{v, err}
}

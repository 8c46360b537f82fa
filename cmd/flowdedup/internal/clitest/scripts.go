// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/compare"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// sequential runs scripts one after the other, as all of them change the working directory.
type sequential struct{ *testing.T }

func (s sequential) Parallel()     {}
func (s sequential) Verbose() bool { return testing.Verbose() }
func (s sequential) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(sequential{t}) })
}

// Scripts runs testdata/script/*.txtar of a package. Each begins in a folder of its own, with
// copies of the project's captures. Beside the commands of testscript it may use these:
//
//	flowdedup ARGS             runs the program in this process; it must end with exit code 0. <FILE
//	                           and >FILE behind ARGS are its standard input and output
//	exit CODE ARGS             the same with another exit code
//	fails CODE TEXT ARGS       prints nothing but one line that holds TEXT on standard error
//	says CODE TEXT|TEXT ARGS   prints all these texts on either output; without a TEXT that ! precedes
//	gives CODE CONDS ARGS      with --json, gives an object that fulfils conditions, separated by spaces
//	rows KEY=VALUE FIELDS WANT ARGS  with --json, gives rows with these fields, of those with VALUE;
//	                           WANT has | between rows, and - for no value
//	json COND ...              tests the last object that was printed
//	each NAME=A|B COMMAND ...  runs a command for each value, which replaces NAME in its words. A word that
//	                           is NAME alone becomes as many words as the value has, with ~ for a space
//	removes N INPUT ... FLAGS  runs dedup as Cleaned does, which must remove N packets, or any number: some.
//	                           out and removed, with the ending of the first input, are what it writes
//	follows CONDS ARGS         runs inspect as gives does, and what it recommends as Follow does
//	contains FILE TEXT|TEXT    looks for texts in a file, as says does; a page must be well-formed
//	folder DIR NAME ...        compares the names in a folder, and ~ for a space
//	packets FILE N             counts packets
//	same FILE FILE             compares packets and times
//	cut FILE BYTES TO          copies a file without its last bytes, or its first, -24
//	flip FILE TO               copies a file with another bit in its middle
//	join FILE FILE TO          copies a file behind another
//	hardlink FILE NAME         gives a file another name
//	replace FILE OLD NEW TO    copies a file with other bytes, texts or 0x and digits
//	part FILE PART TO          copies packets: "from 59", "upto 99", "without 99", "at 1" (an interface)
//	sources TIME ... TO        makes a capture of a packet from another source at each time (RFC 3339)
//	stream SEED N POINTS STEP TO  makes a capture of N packets, as RandomStream does
//	data WORD ... TO           makes a file of the bytes that such words describe
//	begins FILE WORD ...       tests with which bytes a file begins
//	token NAME FIELD=TEXT ...  sets a variable to the token of a hub that is not there, with these fields
//	frames FILE SETTING ... TO makes a capture of the frames that a file describes: see read in scripts_frames.go
//
// A condition is FIELD=VALUE, or with !=, <, > or ~ for a regular expression. FIELD is a path such as
// matrix.0.first, with # for the length of a list; VALUE is null or missing where there is none, and has
// ~ for a space. $TESTDATA is the package's folder.
func Scripts(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("testdata", "script"))
	if err != nil {
		t.Fatal(err)
	}
	captures, err := filepath.Abs(Bundled(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(".") // back at the end
	all := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, c := range scriptCommands {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < c.least {
				ts.Fatalf("%s takes no !, and at least %d words", name, c.least)
			}
			c.run(ts, args)
		}
	}
	all["each"] = func(ts *testscript.TestScript, neg bool, args []string) {
		name, values, _ := strings.Cut(args[0], "=")
		for value := range strings.SplitSeq(values, "|") {
			var words []string
			for _, word := range args[1:] {
				if word == name {
					words = append(words, WordsOf(value)...)
				} else {
					words = append(words, strings.ReplaceAll(word, name, value))
				}
			}
			ts.Logf("%q", words)
			all[words[0]](ts, neg, words[1:])
		}
	}
	testscript.RunT(sequential{t}, testscript.Params{Dir: dir, Cmds: all, RequireUniqueNames: true, ContinueOnError: true, Setup: func(e *testscript.Env) error {
		e.Setenv("TESTDATA", filepath.Dir(dir))
		e.Values[testKey] = e.T().(sequential).T
		return os.CopyFS(e.WorkDir, os.DirFS(captures))
	}})
}

// scriptCommands are the commands of scripts, and how many words each needs.
var scriptCommands = map[string]struct {
	least int
	run   func(ts *testscript.TestScript, args []string)
}{
	"flowdedup": {1, func(ts *testscript.TestScript, args []string) { runInScript(ts, cli.ExitDone, args) }},
	"exit":      {2, func(ts *testscript.TestScript, args []string) { runInScript(ts, number(ts, args[0]), args[1:]) }},
	"fails":     {3, fails}, "says": {3, says}, "gives": {3, gives}, "rows": {4, rows},
	"removes": {2, removes}, "follows": {2, follows}, "frames": {2, frames}, "stream": {5, stream}, "token": {1, token},
	"json": {1, func(ts *testscript.TestScript, args []string) { checkConditions(ts, ts.ReadFile("stdout"), args) }},
	"contains": {2, func(ts *testscript.TestScript, args []string) {
		page := Unwrapped(ts.ReadFile(args[0]))
		if strings.HasSuffix(args[0], ".html") {
			WellFormed(testOf(ts), page)
		}
		lookFor(ts, page, args[1])
	}},
	"folder": {1, folder}, "packets": {2, packets}, "same": {2, same},
	"cut": {3, cutFile}, "flip": {2, flipBit}, "replace": {4, replaceBytes}, "part": {3, partOf}, "sources": {2, sources},
	"join": {3, func(ts *testscript.TestScript, args []string) {
		writeScript(ts, args[2], ts.ReadFile(args[0])+ts.ReadFile(args[1]))
	}},
	"data": {2, func(ts *testscript.TestScript, args []string) {
		last := len(args) - 1
		writeScript(ts, args[last], string(bytesOf(ts, args[:last], 0)))
	}},
	"begins": {2, func(ts *testscript.TestScript, args []string) {
		if want := bytesOf(ts, args[1:], 0); !strings.HasPrefix(ts.ReadFile(args[0]), string(want)) {
			ts.Fatalf("%s does not begin with %x", args[0], want)
		}
	}},
	"hardlink": {2, func(ts *testscript.TestScript, args []string) {
		ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
	}},
}

// testKey is where a script keeps its test.
const testKey = "test"

// testOf returns the test of a script.
func testOf(ts *testscript.TestScript) *testing.T { return ts.Value(testKey).(*testing.T) }

// number reads a number of a script.
func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

// runInScript runs a command line in the folder of a script.
func runInScript(ts *testscript.TestScript, code int, args []string) {
	inScript(ts, func() string {
		for last := len(args) - 1; last > 0 && strings.ContainsAny(args[last][:min(1, len(args[last]))], "<>"); last-- {
			std, open := &os.Stdin, os.Open
			if args[last][0] == '>' {
				std, open = &os.Stdout, os.Create
			}
			file, err := open(args[last][1:])
			ts.Check(err)
			defer file.Close()
			defer func(usual *os.File) { *std = usual }(*std)
			*std, args = file, args[:last]
		}
		var out strings.Builder
		if got := commands.Main(args, &out, ts.Stderr()); got != code {
			ts.Fatalf("exit code %d, want %d: %s%s", got, code, out.String(), ts.Stderr())
		}
		ts.Check(checkSums(args[0], out.String()))
		return out.String()
	})
}

// inScript calls a function in the folder of a script, whose standard output is what it returns.
func inScript(ts *testscript.TestScript, run func() string) {
	ts.Check(os.Chdir(ts.MkAbs(".")))
	for _, of := range []io.Writer{ts.Stdout(), ts.Stderr()} {
		of.(interface{ Reset() }).Reset() // each runs several
	}
	_, err := ts.Stdout().Write([]byte(run()))
	ts.Check(err)
}

// fails expects nothing but a message.
func fails(ts *testscript.TestScript, args []string) {
	runInScript(ts, number(ts, args[0]), args[2:])
	out, errs := fmt.Sprint(ts.Stdout()), fmt.Sprint(ts.Stderr())
	if out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "flowdedup: ") || !strings.Contains(errs, args[1]) {
		ts.Fatalf("stdout %q, stderr %q, want a line with %q", out, errs, args[1])
	}
	for _, arg := range args {
		if secret, isToken := strings.CutPrefix(arg, "fd1:"); isToken && strings.Contains(errs, secret) {
			ts.Fatalf("the line has the token: %s", errs)
		}
	}
}

// token makes a token.
func token(ts *testscript.TestScript, args []string) {
	t := hubclient.Token{
		URL: "nats://127.0.0.1:1", Namespace: "main", Filter: "packets", Site: "paris", Epoch: 1, Slices: 4, Key: make([]byte, 32), WindowUS: 1000,
	}
	for _, arg := range args[1:] {
		name, text, _ := strings.Cut(arg, "=")
		reflect.ValueOf(&t).Elem().FieldByName(name).SetString(text)
	}
	ts.Setenv(args[0], t.Encode())
	testOf(ts).Setenv(args[0], t.Encode()) // of this process, whose scripts are subtests
}

// says looks for texts, or their absence.
func says(ts *testscript.TestScript, args []string) {
	runInScript(ts, number(ts, args[0]), args[2:])
	lookFor(ts, fmt.Sprint(ts.Stdout(), ts.Stderr()), args[1])
}

// Unwrapped returns a page without what keeps its words on one line.
func Unwrapped(page string) string { return unwrapped.Replace(page) }

var unwrapped = strings.NewReplacer("\u00a0", " ", `<span class="word">`, "", "</span>", "")

// gives tests the fields of an object.
func gives(ts *testscript.TestScript, args []string) {
	runInScript(ts, number(ts, args[0]), slices.Insert(slices.Clone(args[2:]), 1, "--json"))
	checkConditions(ts, fmt.Sprint(ts.Stdout()), strings.Fields(args[1]))
}

// lookFor looks for texts with | between them. None with ! before it may be there.
func lookFor(ts *testscript.TestScript, all, texts string) {
	for text := range strings.SplitSeq(texts, "|") {
		text, absent := strings.CutPrefix(text, "!")
		if strings.Contains(all, strings.ReplaceAll(text, `\n`, "\n")) == absent {
			ts.Fatalf("%q is in the output: %v\n%s", text, absent, all)
		}
	}
}

// condition is what gives and json test.
var condition = regexp.MustCompile(`^([^=!<>~]+)(=|!=|<|>|~)(.*)$`)

// checkConditions tests the fields of the last object of a text.
func checkConditions(ts *testscript.TestScript, text string, conditions []string) {
	var object any
	text = strings.TrimSpace(text)
	dec := json.NewDecoder(strings.NewReader(text[strings.LastIndexByte(text, '\n')+1:]))
	dec.UseNumber()
	ts.Check(dec.Decode(&object))
	for _, text := range conditions {
		c := condition.FindStringSubmatch(text)
		if c == nil {
			ts.Fatalf("%s is no condition", text)
		}
		got, want := field(object, c[1]), strings.ReplaceAll(c[3], "~", " ")
		a, errA := strconv.ParseFloat(got, 64)
		b, errB := strconv.ParseFloat(want, 64)
		numbers := errA == nil && errB == nil
		if is := map[string]bool{
			"=": got == want || numbers && a == b, "!=": got != want, "<": numbers && a < b, ">": numbers && a > b,
			"~": c[2] == "~" && regexp.MustCompile(c[3]).MatchString(got),
		}; !is[c[2]] {
			ts.Fatalf("%s: it is %s", text, got)
		}
	}
}

// rows compares fields of the rows of a command.
func rows(ts *testscript.TestScript, args []string) {
	runInScript(ts, cli.ExitDone, slices.Insert(slices.Clone(args[3:]), 1, "--json"))
	key, value, _ := strings.Cut(args[0], "=")
	var got []string
	for dec := json.NewDecoder(strings.NewReader(fmt.Sprint(ts.Stdout()))); dec.More(); {
		var row any
		ts.Check(dec.Decode(&row))
		if field(row, key) != value {
			continue
		}
		var fields []string
		for name := range strings.FieldsSeq(args[1]) {
			fields = append(fields, strings.NewReplacer("null", "-", missing, "-").Replace(field(row, name)))
		}
		got = append(got, strings.Join(fields, " "))
	}
	if all := strings.Join(got, "|"); all != args[2] {
		ts.Fatalf("rows %s", all)
	}
}

// missing stands for a field that an object does not have, which is not null.
const missing = "missing"

// field returns a field of an object as text.
func field(object any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		switch of := object.(type) {
		case map[string]any:
			value, found := of[name]
			if !found {
				return missing
			}
			object = value
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i < len(of) {
				object = of[i]
			} else if name == "#" {
				object = len(of)
			} else {
				return missing
			}
		default:
			return missing
		}
	}
	if object == nil {
		return "null"
	}
	return fmt.Sprint(object)
}

// folder compares names.
func folder(ts *testscript.TestScript, args []string) {
	if got := strings.Join(Entries(testOf(ts), ts.MkAbs(args[0])), " "); got != strings.ReplaceAll(strings.Join(args[1:], " "), "~", " ") {
		ts.Fatalf("%s has %s, want %s", args[0], got, args[1:])
	}
}

// packets counts the packets of a capture.
func packets(ts *testscript.TestScript, args []string) {
	if n := len(ReadAll(testOf(ts), ts.MkAbs(args[0]))); strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d packets in %s, want %s", n, args[0], args[1])
	}
}

// same compares captures.
func same(ts *testscript.TestScript, args []string) {
	t := testOf(ts)
	CompareRecords(t, strings.Join(args, " and "), ReadAll(t, ts.MkAbs(args[0])), ReadAll(t, ts.MkAbs(args[1])))
}

// writeScript makes a file in the folder of a script.
func writeScript(ts *testscript.TestScript, name, content string) {
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(content), 0o600))
}

// cutFile copies a file without one of its ends.
func cutFile(ts *testscript.TestScript, args []string) {
	data := ts.ReadFile(args[0])
	n := number(ts, args[1])
	writeScript(ts, args[2], data[max(0, -n):len(data)-max(0, n)])
}

// flipBit copies a file with another bit.
func flipBit(ts *testscript.TestScript, args []string) {
	data := []byte(ts.ReadFile(args[0]))
	data[len(data)/2] ^= 4
	writeScript(ts, args[1], string(data))
}

// replaceBytes copies a file with other bytes.
func replaceBytes(ts *testscript.TestScript, args []string) {
	bytes := func(s string) string {
		digits, isHex := strings.CutPrefix(s, "0x")
		if !isHex {
			return s
		}
		data, err := hex.DecodeString(digits)
		ts.Check(err)
		return string(data)
	}
	writeScript(ts, args[3], strings.ReplaceAll(ts.ReadFile(args[0]), bytes(args[1]), bytes(args[2])))
}

// partOf copies packets of a capture.
func partOf(ts *testscript.TestScript, args []string) {
	what, value, _ := strings.Cut(args[1], " ")
	n := number(ts, value)
	WritePart(testOf(ts), ts.MkAbs(args[2]), ts.MkAbs(args[0]), func(number int, b *capture.Batch, i int) bool {
		return map[string]bool{"from": number >= n, "upto": number <= n, "without": number != n, "at": int(b.Frames[i].Interface) == n}[what]
	})
}

// sources makes a capture.
func sources(ts *testscript.TestScript, args []string) {
	last := len(args) - 1
	writeScript(ts, args[last], string(SourcesPcap(testOf(ts), args[:last]...)))
}

// stream makes a capture of packets at random.
func stream(ts *testscript.TestScript, args []string) {
	t, points := testOf(ts), number(ts, args[2])
	step, err := time.ParseDuration(args[3])
	ts.Check(err)
	rng := rand.New(rand.NewPCG(uint64(number(ts, args[0])), 1))
	ts.Check(os.Rename(WriteStream(t, RandomStream(rng, number(ts, args[1]), points, step), points), ts.MkAbs(args[4])))
}

// checkSums returns an error if the counts of a command's summary do not add up.
func checkSums(command, out string) (err error) {
	switch {
	case !strings.HasPrefix(out, "{"):
	case command == "compare":
		var r compare.Summary
		err = cmp.Or(json.Unmarshal([]byte(out), &r), checkCompare(&r))
	case command == "inspect":
		var r inspect.Summary
		err = cmp.Or(json.Unmarshal([]byte(out), &r), checkInspect(&r))
	}
	return err
}

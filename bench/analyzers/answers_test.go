// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// answers are what was found out, by what it is about. Tests that run at once ask for the same:
// the first one finds it out, and the others wait for it.
type answers[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*answer[V]
}

type answer[V any] struct {
	mu    sync.Mutex
	known bool
	value V
}

// get returns what is known, or what find finds out. A test that fails in find leaves it to the
// next one.
func (all *answers[K, V]) get(key K, find func() V) V {
	all.mu.Lock()
	if all.known == nil {
		all.known = map[K]*answer[V]{}
	}
	one := all.known[key]
	if one == nil {
		one = new(answer[V])
		all.known[key] = one
	}
	all.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.known {
		one.value = find()
		one.known = true
	}
	return one.value
}

// judges are processes of answers.py, each of which answers one test at a time.
type judges struct {
	mu   sync.Mutex
	all  []*judge
	free []*judge
}

var python judges

type judge struct {
	cmd    *exec.Cmd
	to     io.WriteCloser
	from   *bufio.Reader
	stderr strings.Builder
}

// take returns a process without a question, and starts one if none is free.
func (j *judges) take(t *testing.T) *judge {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if last := len(j.free) - 1; last >= 0 {
		one := j.free[last]
		j.free = j.free[:last]
		return one
	}
	one := &judge{cmd: exec.Command("python3", "-B", "answers.py")}
	one.cmd.Stderr = &one.stderr
	to, err := one.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := one.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := one.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	one.to, one.from = to, bufio.NewReader(from)
	j.all = append(j.all, one)
	return one
}

// put takes a process back that has answered.
func (j *judges) put(one *judge) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.free = append(j.free, one)
}

// end ends all processes.
func (j *judges) end() {
	for _, one := range j.all {
		_ = one.to.Close()
		_ = one.cmd.Wait() // a test has reported one that failed
	}
}

// askPython asks judge.py or sensor.py, and decodes the answer.
func askPython(t *testing.T, answer any, program string, args ...string) {
	t.Helper()
	need(t, "python3")
	question, err := json.Marshal(append([]string{program, "--known", known}, args...))
	if err != nil {
		t.Fatal(err)
	}
	one := python.take(t)
	_, _ = one.to.Write(append(question, '\n')) // without it there is no answer
	line, err := one.from.ReadBytes('\n')
	if err != nil {
		_ = one.to.Close()
		_ = one.cmd.Wait() // it has said why
		t.Fatalf("%s: %v\n%s", question, err, one.stderr.String())
	}
	python.put(one)
	if err := json.Unmarshal(line, answer); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
}

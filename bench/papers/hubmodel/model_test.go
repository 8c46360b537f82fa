// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// small is a hub that is simulated fast.
func small() config {
	c := usual()
	c.Sites, c.Length, c.Lost, c.Moved, c.Hot = 8, 2*time.Second, 500*time.Millisecond, 200*time.Millisecond, 1000
	return c
}

func TestModel(t *testing.T) {
	c := small()
	one, again := simulate(&c), simulate(&c)
	if !reflect.DeepEqual(one, again) {
		t.Error("two runs of a seed differ")
	}
	if one.Unchecked == 0 || one.Worst < c.Moved || one.Worst > c.Moved+2*probeEvery {
		t.Errorf("a node is lost: %v unchecked, for %v", one.Unchecked, one.Worst)
	}
	c.Lost = 2 * c.Length
	if r := simulate(&c); r.Unchecked != 0 || r.Worst != 0 {
		t.Errorf("no node is lost: %v unchecked, for %v", r.Unchecked, r.Worst)
	}
	// A hub with too little to serve all leaves the rest unchecked, and no verdict waits
	// longer than packets do.
	c.Cores, c.Digest = 1, time.Microsecond
	r := simulate(&c)
	if share := r.Unchecked / r.Digests; share < 0.2 || share > 0.9 {
		t.Errorf("too much load: %v unchecked", share)
	}
	if longest := r.Delay[0][2]; longest > (wait+thinDelay).Seconds()*1e3 {
		t.Errorf("a verdict after %v ms", longest)
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	if err := run(small(), &out, t.TempDir()+"/x.svg"); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != len(rows)+4 {
		t.Errorf("%d lines: %s", n, out.String())
	}
}

// TestManual makes the row of the model in the manual's table of answers again.
func TestManual(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds of 40 sites")
	}
	page, err := os.ReadFile("../../../cmd/flowdedup/doc/hub.md")
	if err != nil {
		t.Fatal(err)
	}
	c := usual()
	c.LocalFilter = true
	r := simulate(&c)
	row := fmt.Sprintf("| %.0f | %.1f ms | %.1f ms; a lost node lets %.1f %% of %.0f s pass unchecked |",
		r.Digests/c.Length.Seconds()/1e6, r.Delay[0][0], r.Delay[0][1], 100*r.Unchecked/r.Digests, c.Length.Seconds())
	if !strings.Contains(string(page), row) {
		t.Errorf("the manual does not have %q", row)
	}
}

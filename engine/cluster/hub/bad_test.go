// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestBadRequests names each site once a minute, however often it sends bad requests.
func TestBadRequests(t *testing.T) {
	var b badRequests
	at := time.Unix(1_700_000_000, 0)
	for i := range 3000 {
		text := b.note("a", badReply, at.Add(time.Duration(i)*time.Second/10))
		switch {
		case i == 0 && text != "site a sends bad requests: "+badReply,
			i > 0 && i%600 != 0 && text != "",
			i > 0 && i%600 == 0 && text != "site a sent 600 more bad requests, the last: "+badReply:
			t.Errorf("request %d: %q", i, text)
		}
	}
	for i := range 2 * slice.MaxSites {
		b.note(fmt.Sprintf("s%d", i), badBody, at)
	}
	if text := b.note("x\x1b[2J", badBody, at); text != "" {
		t.Errorf("%q", text)
	}
	if all := b.all(); len(all) != slice.MaxSites || all["a"] != 3000 {
		t.Errorf("%d sites, %d of a", len(all), all["a"])
	}
}

// TestWildReports adds up reports of a site that reports arbitrary numbers.
func TestWildReports(t *testing.T) {
	r := reports{site: map[string]siteReport{}}
	last := uint64(0)
	for i := range 10 {
		one := hubclient.Report{Packets: math.MaxUint64 - uint64(i), CopiesHub: math.MaxUint64, Unchecked: uint64(i), Run: fmt.Sprint(i % 2)}
		r.take("a", one, time.Unix(1, 0))
		now := r.all()["a"].Total
		if now.Packets < last || now.Packets > math.MaxInt64 || now.CopiesHub > math.MaxInt64 {
			t.Fatalf("%+v after %d", now, last)
		}
		last = now.Packets
	}
	if _, err := hubclient.DecodeReport(hubclient.Report{Run: strings.Repeat("x", 1<<20)}.Encode()); err == nil {
		t.Error("a run with a name of a megabyte is taken")
	}
}

// TestReportsOfRuns has all processes with the token of a site report in turns, each time more, and
// one that is started again.
func TestReportsOfRuns(t *testing.T) {
	r := reports{site: map[string]siteReport{}}
	for round := range uint64(10) {
		for run := range maxConnections {
			n := (round + 1) * uint64(run+1)
			r.take("a", hubclient.Report{Packets: 4 * n, CopiesLocal: 3 * n, CopiesHub: 2 * n, Unchecked: n, Run: fmt.Sprint(run)}, time.Unix(1, 0))
		}
	}
	const n = 10 * maxConnections * (maxConnections + 1) / 2
	want := hubclient.Report{Packets: 4 * n, CopiesLocal: 3 * n, CopiesHub: 2 * n, Unchecked: n}
	if got := r.all()["a"].Total; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.take("a", hubclient.Report{Packets: 4, Run: "new"}, time.Unix(2, 0))
	if got := r.all()["a"].Total.Packets; got != want.Packets+4 {
		t.Errorf("%d packets with another run", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web/webtest"
)

// TestAttack attacks the page of a hub that runs, as pages and programs from elsewhere can.
// It is well all the while, and answers sites as before.
func TestAttack(t *testing.T) {
	state, port := filepath.Join(t.TempDir(), "state"), lab.FreePort(t)
	program(t, state, "--listen", "127.0.0.1:"+lab.FreePort(t), "--http", port, "--slices", "4", "--memory", "4MiB")
	addr, err := net.ResolveTCPAddr("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, string) {
		answer, err := http.Get("http://" + addr.String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if n := ask(t, state, "a", 100, 1e18); n != 0 {
		t.Errorf("%d copies at the first site", n)
	}
	webtest.Attack(t, addr, "flowdedup-hub", "/status.json")
	if n := ask(t, state, "b", 100, 1e18); n != 100 {
		t.Errorf("%d copies at the second site, want 100", n)
	}
	if code, body := get("/healthz"); code != http.StatusOK || !strings.HasPrefix(body, `{"status":"ok"`) {
		t.Errorf("%d %s", code, body)
	}
	_, body := get("/metrics")
	for _, want := range []string{`flowdedup_hub_site_copies_total{site="b"} 100` + "\n", "process_resident_memory_bytes ", "go_goroutines "} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in %s", want, body)
		}
	}
}

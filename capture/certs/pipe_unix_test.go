// SPDX-License-Identifier: Apache-2.0

//go:build unix

package certs_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/certs/certstest"
)

// TestPipes reads pipes once, and waits for none that comes into the place of a file.
func TestPipes(t *testing.T) {
	a := certstest.New(t)
	cert, key, authority := a.Files(t, "node", time.Hour)
	client, _ := load(t, cert, key, authority)
	piped, text := a.Dir+"/piped", contents(t, key)
	if err := syscall.Mkfifo(piped, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(piped, []byte(text), 0) }()
	server, says := load(t, cert, piped, authority)
	for range 3 {
		if meet(t, server, client) == "" {
			t.Error("refused")
		}
	}
	if got := says.take(); got != "" {
		t.Error(got)
	}
	server, says = load(t, cert, key, authority)
	if err := os.Rename(piped, key); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if meet(t, server, client) == "" || says.take() == "" || time.Since(begin) > 500*time.Millisecond {
		t.Error("waited for a pipe")
	}
}

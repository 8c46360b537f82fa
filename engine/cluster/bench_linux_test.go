// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// BenchmarkHubCore has a hub, with its server and slices, on one core. Two sensors in this
// process have the other ones, and send it the same packets as fast as it answers.
//
// digests/s is the throughput, hub-ns/digest the hub's processor time, and digests/core-s
// the resulting throughput of a core that does nothing else. sensor-ns/digest is the
// processor time of this process.
func BenchmarkHubCore(b *testing.B) {
	for _, slices := range []int{8, 64} {
		b.Run(fmt.Sprintf("slices=%d", slices), func(b *testing.B) { benchmarkHubCore(b, slices) })
	}
}

func benchmarkHubCore(b *testing.B, slices int) {
	hub, tokens := hubOnCore(b, slices)
	n := slices * 1024
	var clients []*hubclient.Client
	for _, token := range tokens {
		clients = append(clients, join(b, token, hubclient.ClientConfig{Wait: time.Minute, Block: true}))
	}
	digests, times := make([]digest.Digest, n), make([]int64, n)
	rng := rand.New(rand.NewPCG(18, 1))
	for i := range digests {
		digests[i][0], times[i] = rng.Uint64(), time.Now().UnixNano()+int64(i)*300
	}
	skip := make([]uint64, n/64)
	begin, sensors := processTime(b, hub), processTime(b, os.Getpid())
	rounds := 0
	for b.Loop() {
		rounds++
		other := rng.Uint64()
		for i := range digests {
			digests[i][0] ^= other
			times[i] += int64(n) * 300
		}
		var group sync.WaitGroup
		for _, c := range clients {
			group.Go(func() {
				var a hubclient.Answers
				c.Ask(&a, digests, times, skip)
				if c.Wait(&a); a.Unchecked > 0 {
					b.Errorf("%d unchecked", a.Unchecked)
				}
			})
		}
		group.Wait()
	}
	all := float64(len(clients) * n * rounds)
	cost := float64(processTime(b, hub)-begin) / all
	b.ReportMetric(all/b.Elapsed().Seconds(), "digests/s")
	b.ReportMetric(cost, "hub-ns/digest")
	b.ReportMetric(1e9/cost, "digests/core-s")
	b.ReportMetric(float64(processTime(b, os.Getpid())-sensors)/all, "sensor-ns/digest")
}

// hubOnCore starts a hub on the first core, and keeps this process from it.
func hubOnCore(b *testing.B, slices int) (pid int, tokens []hubclient.Token) {
	if out, err := exec.Command("taskset", "-acp", "1-1023", strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		b.Skipf("needs taskset and two cores: %v %s", err, out)
	}
	return startHub(b, slices, []string{"taskset", "-c", "0", "env", "GOMAXPROCS=1"})
}

// startHub starts a hub, by a command that takes its command line. It returns the hub's
// process, and tokens of two sites.
func startHub(b *testing.B, slices int, by []string) (pid int, tokens []hubclient.Token) {
	dir, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	program, state := dir+"/flowdedup-hub", b.TempDir()
	line := append(by, program, "--state", state, "--listen", "127.0.0.1:"+benchlab.FreePort(b), "--http", "none",
		"--slices", strconv.Itoa(slices), "--memory", "64MiB")
	hub := exec.Command(line[0], line[1:]...)
	var text lockedBuffer
	hub.Stderr = &text
	if err := hub.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = hub.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = hub.Wait()                          // its exit code only reports the signal
	})
	if !wait.For(func() bool { return strings.Contains(text.String(), "sensors connect") }) {
		b.Fatal("the hub does not start: ", text.String())
	}
	for _, site := range []string{"a", "b"} {
		line, err := exec.Command(program, "join-token", site, "--state", state).Output()
		if err != nil {
			b.Fatal(err)
		}
		token, err := hubclient.DecodeToken(string(line))
		if err != nil {
			b.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	return hub.Process.Pid, tokens
}

// join connects a site.
func join(t testing.TB, token hubclient.Token, cfg hubclient.ClientConfig) *hubclient.Client {
	t.Helper()
	link, unreached, err := natslink.Dial(token, func(err error) { t.Log(err) })
	if err = errors.Join(unreached, err); err != nil {
		t.Fatal(err)
	}
	cfg.Token = token
	client := hubclient.NewClient(cfg, link, "run")
	t.Cleanup(func() {
		client.Close()
		link.Close()
	})
	if err := errors.Join(link.Listen(client.Inbox(), client.Receive), client.Ping()); err != nil {
		t.Fatal(err)
	}
	return client
}

// processTime is a process's processor time, which Linux counts in hundredths of a
// second.
func processTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	sum := time.Duration(0)
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n) * time.Second / 100
	}
	return sum
}

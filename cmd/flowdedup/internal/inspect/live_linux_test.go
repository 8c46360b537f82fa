// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
)

// TestInspectLive looks at live traffic of which each packet comes twice, the second time
// on a VLAN.
func TestInspectLive(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	cmd := clitest.Program(t, "inspect", "-i", "left", "--duration", "2s", "--json", "--ring-size", "16MiB", "--block-timeout", "200ms")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for id, over := 1, false; !over; {
		var frames []clitest.Frame
		for range 50 {
			f := clitest.Frame{ID: uint16(id), Src: byte(id % 5), TTL: 64}
			frames = append(frames, f)
			f.VLAN = 100
			frames = append(frames, f)
			id++
		}
		clitest.SendTo(t, "right", frames...)
		select {
		case err := <-ended:
			if over = true; err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	var r inspect.Summary
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	// The capture may begin or end between a packet and its copy.
	if r.Copies < 50 || r.Packets-2*r.Copies > 2 || r.Kinds["vlan"] != r.Copies {
		t.Errorf("%+v", r)
	}
	// How far a packet and its copy are apart depends on what else the machine does.
	if c := r.Recommendation.Command; !strings.HasPrefix(c, "flowdedup live -i left --identity l3 --window ") {
		t.Errorf("command %q", c)
	}
}

// TestInspectMirror looks at what a cloud mirrors, of which each packet comes for two
// sessions. Packets that the filter leaves out are not among it.
func TestInspectMirror(t *testing.T) {
	clitest.NeedTcpdump(t)
	clitest.Lab(t)
	clitest.IP(t, "link set lo up")
	cmd := clitest.Program(t, "inspect", "-i", "vxlan://127.0.0.1?vni=1,2", "--for", "1h", "--json", "--filter", "udp")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	clitest.AwaitRead(t, clitest.MirrorPort) // or rather that it listens
	const packets = 100
	for id := range packets {
		frame := clitest.Frame{ID: uint16(id), Src: byte(id % 5), TTL: 64}.Bytes()
		clitest.SendVXLAN(t, 1, frame)
		clitest.SendVXLAN(t, 2, frame, []byte("\x02\x02\x02\x02\x02\x02\x04\x04\x04\x04\x04\x04\x88\xb5no IP at all"))
	}
	clitest.AwaitRead(t, clitest.MirrorPort)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that the exit code is 130
	var r inspect.Summary
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if r.Copies != packets || r.Packets != 2*packets {
		t.Errorf("%+v: %s", r, errs.String())
	}
	if c := r.Recommendation.Command; !strings.Contains(c, "flowdedup live -i 'vxlan://127.0.0.1?vni=1,2' --identity l3") {
		t.Errorf("command %q", c)
	}
}

// TestInspectNetwork inspects what a peer sends, as it would a file.
func TestInspectNetwork(t *testing.T) {
	t.Parallel()
	name, port := clitest.Bundled("router-ordered.pcapng"), benchlab.FreePort(t)
	var want, got struct {
		Packets uint64 `json:"packets_in"`
		Copies  uint64 `json:"duplicates"`
		Peers   uint64
		Dropped uint64 `json:"dropped_peers"`
	}
	out, _, _ := clitest.Run("inspect", "--json", name)
	if err := json.Unmarshal([]byte(out), &want); err != nil {
		t.Fatal(err)
	}
	inspecting := clitest.NewProcess(t, "inspect", "--json", "tcp-listen://:"+port)
	inspecting.Start()
	looking, conn := clitest.Dialled(t, port), clitest.Dialled(t, port)
	if _, err := looking.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	looking.Close()
	data, err := os.ReadFile(name)
	if _, failed := conn.Write(data); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	conn.Close()
	if code := inspecting.Wait(); code != cli.ExitDone {
		t.Fatal(code, inspecting.Stderr.String())
	}
	if err := json.Unmarshal(inspecting.Stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if want.Copies == 0 || got.Packets != want.Packets || got.Copies != want.Copies || got.Peers != 2 || got.Dropped != 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// TestInspectLive looks at live traffic of which each packet comes twice, the second time
// on a VLAN.
func TestInspectLive(t *testing.T) {
	t.Parallel()
	lab(t)
	pair(t, "left", "right")
	cmd := program(t, "inspect", "-i", "left", "--duration", "2s", "--json", "--ring-size", "16MiB", "--block-timeout", "200ms")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for id, over := 1, false; !over; {
		var frames []liveFrame
		for range 50 {
			f := liveFrame{id: uint16(id), src: byte(id % 5), ttl: 64}
			frames = append(frames, f)
			f.vlan = 100
			frames = append(frames, f)
			id++
		}
		sendTo(t, "right", frames...)
		select {
		case err := <-ended:
			if over = true; err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	var r inspectResult
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
	needTcpdump(t)
	lab(t)
	ip(t, "link set lo up")
	cmd := program(t, "inspect", "-i", "vxlan://127.0.0.1?vni=1,2", "--for", "1h", "--json", "--filter", "udp")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitRead(t, mirrorPort) // or rather that it listens
	const packets = 100
	for id := range packets {
		frame := liveFrame{id: uint16(id), src: byte(id % 5), ttl: 64}.bytes()
		sendVXLAN(t, 1, frame)
		sendVXLAN(t, 2, frame, []byte("\x02\x02\x02\x02\x02\x02\x04\x04\x04\x04\x04\x04\x88\xb5no IP at all"))
	}
	awaitRead(t, mirrorPort)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that the exit code is 130
	var r inspectResult
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

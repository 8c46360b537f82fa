package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestInspectLive looks at live traffic of which each packet comes twice, the second time
// on a VLAN.
func TestInspectLive(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	cmd := program(t, "inspect", "-i", "left", "--for", "2s", "--json", "--ring-size", "8MiB")
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
	if c := r.Recommendation.Command; !strings.HasPrefix(c, "flowdedup live -i left --identity l3 --window 1ms") {
		t.Errorf("command %q", c)
	}
}

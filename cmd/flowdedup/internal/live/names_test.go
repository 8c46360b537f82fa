package live

import (
	"math"
	"net"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture/flow"
)

// TestPlaces finds interfaces by their names.
func TestPlaces(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil || len(all) == 0 {
		t.Skip("no interfaces: ", err)
	}
	here := flow.CapturePoint{Index: uint32(all[0].Index)}
	elsewhere, away := flow.CapturePoint{Index: here.Index + 1000}, flow.CapturePoint{Interface: 2, Index: math.MaxInt32}
	saved := []flow.CapturePoint{{}, {Interface: 1}, here, elsewhere, here, away, away}
	names := []string{"", "", all[0].Name, all[0].Name, "another one", "far away", ""}
	want := []flow.CapturePoint{{}, {Interface: 1}, here, here, {}, away, away}
	var p ifaceNames
	got, err := p.resume(saved, names)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	names[4] = ""
	if got := p.of(append(got, here, away)); !slices.Equal(got, append(names, all[0].Name, "")) {
		t.Errorf("names %q", got)
	}
}

package live

import (
	"net"

	"github.com/flowdedup/flowdedup/capture/flow"
)

// ifaceNames keeps the names of the interfaces that the points of a run have by index: for
// the next one they may have other indices.
type ifaceNames struct{ names []string }

// of returns the names for a list of points, which only grows; "" stands for a point
// that has no index, and for one whose interface went before it could be asked.
func (p *ifaceNames) of(points []flow.CapturePoint) []string {
	for _, at := range points[len(p.names):] {
		name := ""
		if at.Index != 0 {
			if i, err := net.InterfaceByIndex(int(at.Index)); err == nil {
				name = i.Name
			}
		}
		p.names = append(p.names, name)
	}
	return p.names[:len(points):len(points)]
}

// resume takes in the names for the points of the run before, and returns these with the
// indices that the interfaces have now. An interface that is not there keeps its index,
// unless that is another one's by now: then no packet is of its point any more.
func (p *ifaceNames) resume(points []flow.CapturePoint, names []string) ([]flow.CapturePoint, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	indices, taken := map[string]uint32{}, map[uint32]bool{}
	for _, i := range interfaces {
		indices[i.Name], taken[uint32(i.Index)] = uint32(i.Index), true
	}
	now := make([]flow.CapturePoint, min(len(points), len(names)))
	for n := range now {
		at, name := points[n], names[n]
		index, there := indices[name]
		switch {
		case name == "":
		case there:
			at.Index = index
		case taken[at.Index]:
			at, name = flow.CapturePoint{}, ""
		}
		now[n], p.names = at, append(p.names, name)
	}
	return now, nil
}

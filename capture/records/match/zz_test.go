package match
import ("testing";"math/rand/v2")
func TestWrongKinds(t *testing.T) {
	timeouts := []int64{0, 0, 1, 5, 10, 30, 60, 120, 300, 900, 1800}
	idles := []int64{5, 10, 15, 30, 60, 120, 300}
	for _, parts := range []int{2,3,4,8} { for _, gap := range []int64{sec/20, sec/2, sec, 3*sec, 20*sec} {
	bad, lostp, total, shown := 0,0,0,0
	rng := rand.New(rand.NewPCG(55, uint64(parts)))
	for range 400 {
		s := &stream{}
		at := int64(1e18)
		var of []int
		var desc []int64
		for part := range parts {
			n := 1+rng.IntN(200)
			desc = append(desc, (at-1e18)/1e6)
			for range n { s.packets = append(s.packets, at); of = append(of, part); at += 1+rng.Int64N(2*gap) }
			desc = append(desc, (s.packets[len(s.packets)-1]-1e18)/1e6)
			at += sec + rng.Int64N(100*sec)
		}
		var xs []streamExporter
		for e := range 2 {
			x := streamExporter{active: timeouts[rng.IntN(len(timeouts))] * sec, idle: idles[rng.IntN(len(idles))] * sec, delay: rng.Int64N(3 * sec)}
			x.sees = func(p int) bool { return of[p]%2 == e }
			s.report(rng, e+1, x)
			xs = append(xs,x)
		}
		v := s.judge(t, Config{Memory: 1 << 12})
		if v.wrong>0 { bad++; if shown < 3 && parts<4 { shown++; t.Logf("parts %v: %v %+v", desc, xs, v)} }
		lostp += v.lost; total += len(s.packets)
	}
	t.Logf("parts %d gap %v: bad %d of 400, lost %d of %d packets", parts, float64(gap)/1e9, bad, lostp, total)
	}}
}

package theory
import ("testing";"fmt";"time")
func TestZZ(t *testing.T) {
	for _, x := range []struct{c int; slack, load float64}{{12,3.0/31,6},{12,3.0/31,6.5},{12,3.0/31,7},{12,3.0/31,7.5},{12,3.0/31,8},{15,15.0/125,9},{15,15.0/125,9.5},{15,15.0/125,10},{15,15.0/125,10.5}} {
		s := SpareRows{Cells:x.c, Share:12, Slack:x.slack}
		at := time.Now()
		f := s.Lost(x.load)
		m := 0.0
		for i := range 100 { m += f((float64(i)+0.5)/100)/100 }
		fmt.Printf("%d %.1f full %.3f lost %.3g mean %.3g %v\n", x.c, x.load, s.Full(x.load), f(1), m, time.Since(at))
	}
}

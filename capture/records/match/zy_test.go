package match
import "testing"
func TestOne(t *testing.T) {
	s := &stream{packets: every(3*sec, 3600*sec)}
	s.report(nil, 1, streamExporter{active: 0, idle: 15 * sec, delay: 400 * sec, sees: all})
	s.report(nil, 2, streamExporter{active: 300*sec, idle: 15 * sec, delay: 0, sees: all})
	v := s.judge(t, Config{Memory: 1 << 12})
	t.Logf("%+v", v)
	for _, r := range s.kept { t.Log(r.Point.Exporter, (r.Start-1e18)/1e9, (r.End-1e18)/1e9, (r.Received-1e18)/1e9) }
}

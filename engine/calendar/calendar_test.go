// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"math"
	"math/rand/v2"
	"path"
	"testing"
	"time"
	_ "time/tzdata" // zones are needed on machines without them, too
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func instant(t testing.TB, s string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixNano()
}

const (
	day  = 24 * time.Hour
	week = 7 * day
)

func TestCalendarWindow(t *testing.T) {
	for _, c := range []struct {
		name           string
		every          time.Duration
		zone           string
		at, start, end string
	}{
		{"hour", time.Hour, "UTC", "2024-05-06T07:08:09Z", "2024-05-06T07:00:00Z", "2024-05-06T08:00:00Z"},
		{"first instant", time.Hour, "UTC", "2024-05-06T07:00:00Z", "2024-05-06T07:00:00Z", "2024-05-06T08:00:00Z"},
		{"last instant", time.Hour, "UTC", "2024-05-06T07:59:59.999999999Z", "2024-05-06T07:00:00Z", "2024-05-06T08:00:00Z"},
		{"before 1970", time.Hour, "UTC", "1969-12-31T23:59:59.999999999Z", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"},
		{"week from Monday", week, "UTC", "2024-05-09T07:08:09Z", "2024-05-06T00:00:00Z", "2024-05-13T00:00:00Z"},
		{"half-hour zone", time.Hour, "Asia/Kolkata", "2024-05-06T07:08:09Z", "2024-05-06T06:30:00Z", "2024-05-06T07:30:00Z"},
		{"15-minute zone", day, "Asia/Kathmandu", "2024-05-06T07:08:09Z", "2024-05-05T18:15:00Z", "2024-05-06T18:15:00Z"},
		{"day of 23 hours", day, "Europe/Berlin", "2024-03-31T12:00:00Z", "2024-03-30T23:00:00Z", "2024-03-31T22:00:00Z"},
		{"day of 25 hours", day, "Europe/Berlin", "2024-10-27T12:00:00Z", "2024-10-26T22:00:00Z", "2024-10-27T23:00:00Z"},
		{"hour before the gap", time.Hour, "Europe/Berlin", "2024-03-31T00:30:00Z", "2024-03-31T00:00:00Z", "2024-03-31T01:00:00Z"},
		{"hour after the gap", time.Hour, "Europe/Berlin", "2024-03-31T01:30:00Z", "2024-03-31T01:00:00Z", "2024-03-31T02:00:00Z"},
		{"first 02:00", time.Hour, "Europe/Berlin", "2024-10-27T00:30:00Z", "2024-10-27T00:00:00Z", "2024-10-27T01:00:00Z"},
		{"second 02:00", time.Hour, "Europe/Berlin", "2024-10-27T01:30:00Z", "2024-10-27T01:00:00Z", "2024-10-27T02:00:00Z"},
		{"second 02:30", 30 * time.Minute, "Europe/Berlin", "2024-10-27T01:30:00Z", "2024-10-27T01:30:00Z", "2024-10-27T02:00:00Z"},
		{"two hours with a gap", 2 * time.Hour, "Europe/Berlin", "2024-03-31T01:30:00Z", "2024-03-31T01:00:00Z", "2024-03-31T02:00:00Z"},
		{"two hours, one twice", 2 * time.Hour, "Europe/Berlin", "2024-10-27T01:30:00Z", "2024-10-27T00:00:00Z", "2024-10-27T03:00:00Z"},
		{"week with a change", week, "America/New_York", "2024-11-03T12:00:00Z", "2024-10-28T04:00:00Z", "2024-11-04T05:00:00Z"},
		// The clocks go back from 01:00 to 00:00: midnight comes twice.
		{"midnight twice", day, "Atlantic/Azores", "2024-10-27T00:30:00Z", "2024-10-27T00:00:00Z", "2024-10-28T01:00:00Z"},
		{"midnight twice, later", day, "Atlantic/Azores", "2024-10-27T12:00:00Z", "2024-10-27T00:00:00Z", "2024-10-28T01:00:00Z"},
		{"midnight twice, day before", day, "Atlantic/Azores", "2024-10-26T12:00:00Z", "2024-10-26T00:00:00Z", "2024-10-27T00:00:00Z"},
		// They go from 00:00 to 01:00: there is no midnight; and back from 24:00 to
		// 23:00.
		{"no midnight", day, "America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"day before no midnight", day, "America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"23:00 twice", day, "America/Sao_Paulo", "2018-02-18T02:30:00Z", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		{"half an hour of change", time.Hour, "Australia/Lord_Howe", "2024-04-06T15:10:00Z", "2024-04-06T14:00:00Z", "2024-04-06T15:30:00Z"},
		{"no 30th of December", day, "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"before no 30th", day, "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			calendar := Calendar{Every: c.every, Location: zone(t, c.zone)}
			for range 2 { // found, and remembered
				start, end := calendar.Window(instant(t, c.at))
				if start != instant(t, c.start) || end != instant(t, c.end) {
					t.Errorf("from %v to %v, want %s to %s",
						time.Unix(0, start).UTC(), time.Unix(0, end).UTC(), c.start, c.end)
				}
			}
		})
	}
}

func TestCalendarZero(t *testing.T) {
	for _, at := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		var c Calendar
		if start, end := c.Window(at); start != math.MinInt64+1 || end != math.MaxInt64 {
			t.Errorf("%d: from %d to %d", at, start, end)
		}
	}
}

// Windows tile all of time: the neighbours of a window found at random begin where it
// ends and end where it begins, and every instant of it gives it.
func TestCalendarTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	instants := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for range 50 {
		instants = append(instants, int64(rng.Uint64()), rng.Int64N(2_000_000_000e9))
	}
	for _, name := range []string{"UTC", "Europe/Berlin", "America/St_Johns", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Atlantic/Azores"} {
		for _, every := range []time.Duration{1, 999, time.Minute, 25 * time.Minute, 30 * time.Minute, time.Hour, 90 * time.Minute, 5 * time.Hour, day, week, 10_000 * day, math.MaxInt64} {
			calendar := Calendar{Every: every, Location: zone(t, name)}
			for i, at := range instants {
				if every > 1000*day && i > 15 {
					break // these walk through centuries of clock changes
				}
				checkTile(t, calendar, at, rng)
			}
		}
	}
}

func checkTile(t *testing.T, c Calendar, at int64, rng *rand.Rand) {
	t.Helper()
	at = max(at, beginOfTime)
	start, end := c.Window(at)
	if !within(at, start, end) || start >= end {
		t.Fatalf("%v in %v: %d is not in %d to %d", c.Every, c.Location, at, start, end)
	}
	fresh := func(at int64) (int64, int64) {
		other := Calendar{Every: c.Every, Location: c.Location}
		return other.Window(at)
	}
	inside := start + int64(rng.Uint64N(uint64(end)-uint64(start)))
	for _, at := range []int64{start, inside, end - 1} {
		if s, e := fresh(at); s != start || e != end {
			t.Fatalf("%v in %v: %d gives %d to %d, not %d to %d", c.Every, c.Location, at, s, e, start, end)
		}
	}
	if start > beginOfTime {
		if _, e := fresh(start - 1); e != start {
			t.Fatalf("%v in %v: the window before %d ends at %d", c.Every, c.Location, start, e)
		}
	}
	if end < endOfTime {
		if s, _ := fresh(end); s != end {
			t.Fatalf("%v in %v: the window after %d begins at %d", c.Every, c.Location, end, s)
		}
	}
}

// Hours begin when the minute hand says so, days when the date changes: over four years
// of each zone, compared with the clock of package time.
func TestCalendarAgreesWithClock(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "America/Sao_Paulo", "Atlantic/Azores"} {
		loc := zone(t, name)
		hours, days := Calendar{Every: time.Hour, Location: loc}, Calendar{Every: day, Location: loc}
		for at := instant(t, "2017-01-01T00:00:00Z"); at < instant(t, "2021-01-01T00:00:00Z"); at += int64(37 * time.Minute) {
			local := time.Unix(0, at).In(loc)
			start, _ := hours.Window(at)
			if want := at - int64(local.Minute())*int64(time.Minute) - int64(local.Second())*int64(time.Second); start != want {
				t.Fatalf("%v: hour begins at %v", local, time.Unix(0, start).In(loc))
			}
			start, _ = days.Window(at)
			first, before := time.Unix(0, start).In(loc), time.Unix(0, start-1).In(loc)
			if first.YearDay() != local.YearDay() || before.YearDay() == local.YearDay() {
				t.Fatalf("%v: day begins at %v", local, first)
			}
		}
	}
}

// BenchmarkCalendar asks for another window each time.
func BenchmarkCalendar(b *testing.B) {
	for _, name := range []string{"UTC", "Europe/Berlin"} {
		b.Run("zone="+path.Base(name), func(b *testing.B) {
			c := Calendar{Every: time.Hour, Location: zone(b, name)}
			at := int64(1.7e18)
			for b.Loop() {
				at ^= int64(week)
				c.Window(at)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/element")
		})
	}
}

func TestUsable(t *testing.T) {
	for at, want := range map[int64]int64{
		0: 0, NoTime: NoTime, math.MaxInt64: NoTime, NoTime + 1: NoTime + 1, math.MaxInt64 - 1: math.MaxInt64 - 1,
	} {
		if got := Usable(at); got != want || HasTime(at) != (want != NoTime) {
			t.Errorf("%d: usable as %d, has a time: %v", at, got, HasTime(at))
		}
	}
}

func TestIntervals(t *testing.T) {
	for _, tt := range []struct{ at, length, index, phase int64 }{
		{0, 10, 0, 0}, {9, 10, 0, 9}, {10, 10, 1, 0}, {-1, 10, -1, 9}, {-10, 10, -1, 0}, {-11, 10, -2, 9},
		{math.MinInt64, 1 << 62, -2, 0}, {math.MaxInt64, 1 << 62, 1, 1<<62 - 1},
	} {
		if i, p := Index(tt.at, tt.length), Phase(tt.at, tt.length); i != tt.index || p != tt.phase {
			t.Errorf("%d in intervals of %d: %d, %d; want %d, %d", tt.at, tt.length, i, p, tt.index, tt.phase)
		}
	}
	if d := Distance(math.MinInt64, math.MaxInt64); d != math.MaxUint64 {
		t.Errorf("all of time is %d", d)
	}
}

// TestLongest compares with known lengths, and with the windows of many times.
func TestLongest(t *testing.T) {
	for _, c := range []struct {
		zone  string
		every time.Duration
		want  time.Duration // 0 where it is not known from elsewhere
	}{
		{"UTC", time.Hour, time.Hour}, {"UTC", week, week}, {"UTC", 0, math.MaxInt64}, {"UTC", math.MaxInt64, math.MaxInt64},
		{"Asia/Kolkata", day, 0}, {"Europe/Berlin", time.Hour, time.Hour}, {"Europe/Berlin", day, 25 * time.Hour}, {"Europe/Berlin", 2 * time.Hour, 3 * time.Hour},
		{"Australia/Lord_Howe", day, 25 * time.Hour}, {"America/New_York", week, week + time.Hour}, {"America/New_York", 7 * time.Second, 0},
		{"Pacific/Apia", day, 0}, {"Antarctica/Troll", day, 0},
	} {
		windows := Calendar{Every: c.every, Location: zone(t, c.zone)}
		got := windows.Longest()
		if got < c.every || c.want != 0 && got != c.want {
			t.Errorf("%s, %v: %v, want %v", c.zone, c.every, got, c.want)
		}
		rng := rand.New(rand.NewPCG(5, 5))
		for range 3000 {
			at := int64(rng.Uint64())
			if rng.IntN(2) == 0 { // where clocks change often
				at = rng.Int64N(int64(150*366*day)) - int64(70*366*day)
			}
			if start, end := windows.Window(at); uint64(end)-uint64(start) > uint64(got) && c.every > 0 {
				t.Fatalf("%s, %v: the window of %d is %v long, more than %v", c.zone, c.every, at, time.Duration(end-start), got)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package calendar_test

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// The hours of a night on which the clocks go back.
func ExampleCalendar() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	hours := calendar.Calendar{Every: time.Hour, Location: berlin}
	t := time.Date(2026, 10, 25, 1, 30, 0, 0, berlin).UnixNano()
	for range 4 {
		start, end := hours.Window(t)
		fmt.Println(time.Unix(0, start).In(berlin).Format("15:04 MST"))
		t = end
	}
	// Output:
	// 01:00 CEST
	// 02:00 CEST
	// 02:00 CET
	// 03:00 CET
}

// Packets counted by the hour. The third is out of order, and has no window of its own.
func ExampleStream() {
	hourly := calendar.NewStream(calendar.StreamConfig[int]{
		Calendar: calendar.Calendar{Every: time.Hour},
		Open:     func(_, _ int64) *int { return new(int) },
		Close: func(start, _ int64, packets *int) {
			fmt.Println(time.Unix(0, start).UTC().Format("15:04"), *packets)
		},
	})
	minute := int64(time.Minute)
	times := []int64{58 * minute, 61 * minute, 59 * minute, 62 * minute}
	for len(times) > 0 {
		n, packets := hourly.Run(times)
		if packets != nil { // else they came after their hour was closed
			*packets += n
		}
		times = times[n:]
	}
	hourly.Close()
	// Output:
	// 00:00 2
	// 01:00 2
}

// A clock that is wrong once changes nothing.
func ExampleClock() {
	clock := calendar.Clock{Ahead: time.Minute, Behind: time.Minute}
	second := int64(time.Second)
	for _, t := range []int64{0, second, 86400 * second, 2 * second, 3 * second} {
		verdict, dropped := clock.Observe(t)
		fmt.Println(verdict == calendar.Believed, dropped)
	}
	// Output:
	// true 0
	// true 0
	// false 0
	// true 1
	// true 0
}

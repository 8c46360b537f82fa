// SPDX-License-Identifier: Apache-2.0

package countfile_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
)

// Two sensors count the sources of an hour. Both know one secret, and each saves its counter. A
// third program unites the files: how many sources were there in all, and seen by one only?
func ExampleMerge() {
	key, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	north := countedAt("north", key, []uint32{0x0a000001, 0x0a000002, 0x0a000003})
	south := countedAt("south", key, []uint32{0x0a000003, 0x0a000004})

	if err := countfile.Differ(north, south); err != nil {
		log.Fatal(err) // other settings: the counts cannot be united
	}
	sensors, windows := countfile.Join([]*countfile.File{north, south})
	for _, window := range windows {
		for _, series := range window.Series {
			m, err := countfile.Merge(context.Background(), series.Parts, len(sensors), true)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(time.Unix(0, window.Start).UTC().Format("15:04"), series.Key, series.Family, m.Distinct)
			for i, name := range sensors {
				fmt.Println(" ", name, m.Sensors[i].Distinct, "of which no other has", m.Only[i].Distinct)
			}
		}
	}
	// Output:
	// 00:00 src ipv4 4
	//   north 3 of which no other has 2
	//   south 2 of which no other has 1
}

// countedAt is the file of a sensor that saw some sources. A real one writes it to a disk.
func countedAt(sensor string, key engine.Secret, sources []uint32) *countfile.File {
	counter, err := distinct.NewIPv4Rows(key.AESKey(engine.UsePermutation), 0)
	if err != nil {
		log.Fatal(err)
	}
	defer counter.Close()
	counter.TestAndSet(make([]uint64, (len(sources)+63)/64), sources)

	// Counters of different secrets have different words, so a file names its secret, by a number
	// that does not reveal it.
	names := key.AESKey(engine.UseCounts)
	var b bytes.Buffer
	w := countfile.NewWriter(&b, countfile.Header{Sensor: sensor, Settings: []countfile.Setting{
		{Name: countfile.OfSetting, Value: "src"},
		{Name: countfile.KeySetting, Value: fmt.Sprintf("%x", names[:8])},
	}})
	if err := w.Window(countfile.Whole(0, int64(time.Hour))); err != nil {
		log.Fatal(err)
	}
	if err := w.Series("src", "ipv4", uint64(len(sources)), counter.Contents()); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		log.Fatal(err)
	}
	file, err := countfile.Open(sensor, bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		log.Fatal(err)
	}
	return file
}

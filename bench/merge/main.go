// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Merge measures distinct --merge: it makes files of counts that sensors could have saved,
// has flowdedup unite them, and prints time and peak memory.
//
//	go run ./bench/merge -sensors 20 -keys 10000000 -overlap
//
// Each sensor sees each of twice as many flows with a probability of one half, so two
// sensors have half of their flows in common. The result is checked.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
)

func main() {
	log.SetFlags(0)
	sensors := flag.Int("sensors", 20, "number of sensors")
	keys := flag.Uint64("keys", 10_000_000, "flows of each sensor, about")
	overlap := flag.Bool("overlap", false, "compare the sensors, too")
	dir := flag.String("dir", "", "folder for about 5.3 bytes a flow and sensor (default: the folder of temporary files)")
	flag.Parse()
	if err := measure(*sensors, *keys, *overlap, *dir); err != nil {
		log.Fatal("bench/merge: ", err)
	}
}

func measure(sensors int, keys uint64, overlap bool, dir string) error {
	dir, err := os.MkdirTemp(dir, "merge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "flowdedup")
	if out, err := exec.Command("go", "build", "-o", program, "./cmd/flowdedup").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	args, size := []string{"distinct", "--merge", "--json"}, int64(0)
	if overlap {
		args = append(args, "--overlap")
	}
	for i := range sensors {
		name := filepath.Join(dir, fmt.Sprintf("s%d.counts", i))
		written, err := save(name, uint64(i), 2*keys)
		if err != nil {
			return err
		}
		args, size = append(args, name), size+written
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	begin := time.Now()
	out, err := cmd.Output()
	took := time.Since(begin)
	if err != nil {
		return err
	}
	if err := check(out, sensors, keys); err != nil {
		return err
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	all := float64(sensors) * float64(keys)
	fmt.Printf("%d sensors of %d flows: %.0f MB, %.2f bytes a flow; merged in %.1f s, %.1f s of CPU (%.0f ns a flow), peak memory %.1f MiB\n",
		sensors, keys, float64(size)/1e6, float64(size)/all, took.Seconds(), cpu.Seconds(), float64(cpu.Nanoseconds())/all, float64(usage.Maxrss)/1024)
	return nil
}

// save writes a sensor's part of a pool of flows.
func save(name string, sensor, pool uint64) (written int64, err error) {
	file, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	c := distinct.Contents{Width: 64, Words: func(yield func(uint64) bool) {
		chance := rand.NewPCG(1, 2)
		member := rand.NewPCG(sensor, 3)
		apart := math.MaxUint64 / pool
		var members uint64
		for i := range pool {
			word := i*apart + chance.Uint64()%apart + 1
			if i%64 == 0 {
				members = member.Uint64()
			}
			if members>>(i%64)&1 == 1 && !yield(word) {
				return
			}
		}
	}}
	for range c.Words {
		c.Count++
	}
	buf := bufio.NewWriterSize(file, 1<<20)
	w := countfile.NewWriter(buf, countfile.Header{Settings: []countfile.Setting{{Name: "every", Value: "1h0m0s"}}})
	if err := w.Window(countfile.Whole(0, int64(time.Hour))); err != nil {
		return 0, err
	}
	if err := w.Series("flow", "ipv4", c.Count, c); err != nil {
		return 0, err
	}
	if written, err = w.Close(); err != nil {
		return 0, err
	}
	return written, buf.Flush()
}

// check compares the union with its expected size.
func check(out []byte, sensors int, keys uint64) error {
	var row struct{ Distinct uint64 }
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&row); err != nil {
		return err
	}
	// Each flow is missing from all sensors with a probability of 2^-sensors.
	want := 2 * float64(keys) * (1 - math.Ldexp(1, -sensors))
	if math.Abs(float64(row.Distinct)-want) > 6*math.Sqrt(want) {
		return fmt.Errorf("the union has %d flows, want about %.0f", row.Distinct, want)
	}
	return nil
}

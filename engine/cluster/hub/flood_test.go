// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nats-io/nkeys"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// rawConn connects a site by nothing but a socket, which is as fast as an attacker can be.
func rawConn(t testing.TB, token hubclient.Token) (conn net.Conn, rest *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(token.URL, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	rest = bufio.NewReader(conn)
	var info struct{ Nonce string }
	line, err := rest.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info)
	}
	if err != nil {
		t.Fatal(err)
	}
	keys, err := nkeys.FromSeed([]byte(token.Seed))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := keys.Sign([]byte(info.Nonce))
	if err != nil {
		t.Fatal(err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "CONNECT {\"verbose\":false,\"nkey\":%q,\"sig\":%q,\"protocol\":1}\r\nPING\r\n", public, base64.RawURLEncoding.EncodeToString(sig))
	if err != nil {
		t.Fatal(err)
	}
	return conn, rest
}

// flood sends requests of n digests on many connections until the benchmark ends.
func (l *lab) flood(token hubclient.Token, connections, n int) {
	l.t.Helper()
	var blob []byte
	r := hubclient.Request{Op: hubclient.TestAndSet, Epoch: 1, Time: uint64(time.Now().UnixMicro()), Digests: make([]uint64, n)}
	for i := range r.Digests {
		r.Digests[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	for k := range l.settings.Slices {
		r.Seq++
		body := r.Append(nil)
		subject := hubclient.Subject{Namespace: l.settings.Namespace, Filter: l.settings.Filter, Epoch: 1, Slice: k, Op: r.Op, Site: token.Site}
		blob = append(blob, fmt.Sprintf("PUB %s %s.flood.%d.1 %d\r\n", subject, hubclient.Inbox(token.Site), k, len(body))...)
		blob = append(append(blob, body...), "\r\n"...)
	}
	for range connections {
		conn, rest := rawConn(l.t, token)
		go io.Copy(io.Discard, rest)
		go func() {
			for {
				if _, err := conn.Write(blob); err != nil {
					return
				}
			}
		}()
	}
}

// BenchmarkFlood has a site send a million digests a second, every 4 ms, while another one sends
// all that its token lets it send. lost-% are the digests without an answer within 20 ms.
func BenchmarkFlood(b *testing.B) {
	for _, slices := range []int{1, 64} {
		for _, c := range []struct{ connections, digests int }{{0, 0}, {64, 1}, {64, 1024}, {64, hubclient.MaxDigests}} {
			b.Run(fmt.Sprintf("slices=%d/connections=%d/digests=%d", slices, c.connections, c.digests), func(b *testing.B) {
				benchmarkFlood(b, slices, c.connections, c.digests)
			})
		}
	}
}

func benchmarkFlood(b *testing.B, slices, connections, n int) {
	l := newLab(b, func(s *Settings) { s.Slices = slices })
	if os.Getenv("NOCUT") == "" {
		l.hub.cut = l.server.Cut
	}
	honest, attacker := l.token("honest"), l.token("attacker")
	link, unreached, err := natslink.Dial(honest, func(error) {})
	if err != nil || unreached != nil {
		b.Fatal(err, unreached)
	}
	defer link.Close()
	client := hubclient.NewClient(hubclient.ClientConfig{Token: honest, Wait: 20 * time.Millisecond}, link, "run")
	defer client.Close()
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		b.Fatal(err)
	}
	l.flood(attacker, connections, n)
	const every, batch = 4 * time.Millisecond, 4000
	digests, times, skip := make([]digest.Digest, batch), make([]int64, batch), make([]uint64, (batch+63)/64)
	delays := hdrhistogram.New(1, int64(time.Minute), 3)
	lost, all := 0, 0
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		fill(digests, times, i, begin.UnixNano())
		var a hubclient.Answers
		client.Ask(&a, digests, times, skip)
		client.Wait(&a)
		if err := delays.RecordValue(int64(time.Since(begin))); err != nil {
			b.Fatal(err)
		}
		lost, all = lost+a.Unchecked, all+batch
		time.Sleep(every - time.Since(begin))
	}
	st := client.Stats()
	b.ReportMetric(100*float64(lost)/float64(all), "lost-%")
	b.ReportMetric(float64(delays.ValueAtQuantile(50))/1e6, "p50-ms")
	b.ReportMetric(float64(delays.ValueAtQuantile(99))/1e6, "p99-ms")
	b.ReportMetric(float64(st.Refused), "refused")
	for _, s := range l.hub.Status().Sites {
		if s.Site == "attacker" {
			b.ReportMetric(float64(s.Digests)/b.Elapsed().Seconds(), "attacker/s")
		}
	}
}

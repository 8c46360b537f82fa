// SPDX-License-Identifier: Apache-2.0

package text

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
)

// speedTexts are a header and a line of formats that many records come in.
var speedTexts = map[string][2]string{
	"suricata": {"", `{"timestamp":"2026-11-21T07:09:14.000000+0100","event_type":"flow","vlan":[10,20],"src_ip":"2001:db8::1","src_port":40071,"dest_ip":"198.51.100.7","dest_port":443,"proto":"TCP","flow":{"pkts_toserver":6,"start":"2026-11-21T06:09:04.828000+0000"},"tcp":{"tcp_flags":"1b"},"host":"sensor"}` + "\n"},
	"goflow2":  {"", `{"type":"NETFLOW_V9","time_received_ns":1795241354000000000,"sequence_num":7,"sampling_rate":100,"sampler_address":"203.0.113.1","time_flow_start_ns":1795241344828000000,"time_flow_end_ns":1795241345829000000,"bytes":960,"packets":6,"src_addr":"192.0.2.1","dst_addr":"198.51.100.7","etype":"IPv4","proto":"TCP","src_port":40071,"dst_port":443,"in_if":3,"out_if":4}` + "\n"},
	"hubble":   {"", `{"flow":{"time":"2026-11-21T06:09:04.828Z","IP":{"source":"192.0.2.1","destination":"198.51.100.7"},"l4":{"TCP":{"source_port":40071,"destination_port":443}},"node_name":"n1"}}` + "\n"},
	"nfdump":   {"ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt\n", "2026-11-21 06:09:04.828,2026-11-21 06:09:05.829,1.001,192.0.2.1,198.51.100.7,40071,443,TCP,...AP.SF,0,0,6,960\n"},
	"zeek":     {"#separator \\x09\n#unset_field\t-\n#path\tconn\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state\tlocal_orig\tlocal_resp\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\ttunnel_parents\n", "1795241344.828000\tC1\t192.0.2.1\t40071\t198.51.100.7\t443\ttcp\tssl\t1.001\t500\t900\tSF\t-\t-\t0\tShADadFf\t6\t960\t7\t1200\t-\n"},
	"quoted":   {`"srcAddr","dstAddr","duration","packets","note"` + "\n", `"192.0.2.1","198.51.100.7", 1.001 ,6,"a, ""b"""` + "\n"},
	"aws":      {"version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status\n", "2 123456789010 eni-1 192.0.2.1 198.51.100.7 40071 443 6 6 960 1795241344 1795241345 ACCEPT OK\n"},
}

// TestAllocations reads records of JSON and CSV without allocating.
func TestAllocations(t *testing.T) {
	for name, text := range speedTexts {
		r, err := NewReader(strings.NewReader(text[0]+strings.Repeat(text[1], 20000)), "flows", Config{})
		if err != nil {
			t.Fatal(name, err)
		}
		var b records.Batch
		read := func() {
			if err := r.ReadBatch(&b); err != nil {
				t.Fatal(name, err)
			}
		}
		read()
		if n := testing.AllocsPerRun(30, read); n > 0 || len(b.Records) == 0 {
			t.Errorf("%s: %v allocations for %d records", name, n, len(b.Records))
		}
	}
}

// BenchmarkText reads records of each format.
func BenchmarkText(b *testing.B) {
	for name, text := range speedTexts {
		b.Run(name, func(b *testing.B) {
			r, err := NewReader(&repeated{head: text[0], line: text[1], left: b.N}, "flows", Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(text[1])))
			var batch records.Batch
			for err == nil {
				err = r.ReadBatch(&batch)
			}
			if !errors.Is(err, io.EOF) || r.Counts().Records != uint64(b.N) {
				b.Fatal(err, r.Counts())
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// repeated is a text of equal lines behind a header.
type repeated struct {
	head, line, rest string
	left             int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	if r.head != "" {
		r.rest, r.head = r.head, ""
	}
	for n < len(p) {
		if r.rest == "" {
			if r.left == 0 {
				break
			}
			r.rest, r.left = r.line, r.left-1
		}
		c := copy(p[n:], r.rest)
		n, r.rest = n+c, r.rest[c:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

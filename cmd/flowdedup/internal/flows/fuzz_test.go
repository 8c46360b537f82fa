// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
)

// FuzzLine adds to lines of JSON: an object stays one, on one line.
func FuzzLine(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, "{\n\t\"a\" : \"}\"\n}\n", `{"a":{"b":[1,2]}} `, `{"a":"é\n"},`, `{`, `[]`, ``} {
		f.Add([]byte(s))
	}
	j, err := match.New(match.Config{Memory: 1 << 10})
	if err != nil {
		f.Fatal(err)
	}
	n := &names{judge: j}
	f.Fuzz(func(t *testing.T, line []byte) {
		var object map[string]any
		isObject := json.Unmarshal(line, &object) == nil && object != nil
		h := &match.Held{Kind: records.JSON, Line: bytes.TrimLeft(line, " \t\r\n")}
		out := n.appendJSON(nil, h, false)
		if bytes.Count(out, []byte("\n")) != 1 || !bytes.HasSuffix(out, []byte("}\n")) {
			t.Fatalf("%q", out)
		}
		if isObject && !json.Valid(out) {
			t.Fatalf("%q of %q is no JSON", out, line)
		}
	})
}

// FuzzState resumes from any bytes.
func FuzzState(f *testing.F) {
	policies := []*match.Deltas{nil, {}}
	configOf := func(pairs *match.Deltas) *config {
		return &config{Match: match.Config{Memory: 1 << 12, Pairs: pairs}, Log: slog.New(slog.DiscardHandler)}
	}
	for _, pairs := range policies {
		s := &state{cfg: configOf(pairs)}
		judge, err := match.New(s.cfg.Match)
		if err != nil {
			f.Fatal(err)
		}
		if err := s.encode(judge, nil); err != nil {
			f.Fatal(err)
		}
		whole := bytes.Clone(s.content.Bytes())
		f.Add(whole)
		f.Add(whole[:len(whole)/2])
	}
	f.Add([]byte(stateMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, pairs := range policies {
			judge, err := restore(configOf(pairs), nil, bytes.NewReader(data))
			if err == nil && !bytes.HasPrefix(data, []byte(stateMagic)) {
				t.Error("bytes that are no state were restored")
			}
			if judge != nil {
				judge.Close()
			}
		}
	})
}

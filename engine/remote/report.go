// SPDX-License-Identifier: Apache-2.0

package remote

import "encoding/json"

// Report is what a site tells the hub of itself every few seconds, as JSON on
// Subject.Report. Counts are of the site's run so far. There is no reply.
type Report struct {
	Packets     uint64  `json:"packets"`       // that the site has seen
	CopiesLocal uint64  `json:"copies_local"`  // of them, copies by the site's own filter
	CopiesHub   uint64  `json:"copies_hub"`    // copies by the hub
	Unchecked   uint64  `json:"unchecked"`     // passed on, as no answer came in time
	RTTP99US    float64 `json:"rtt_p99_us"`    // 99 % of recent answers came within so many microseconds
	Run         string  `json:"run,omitempty"` // changes where counts begin again
}

// Encode returns the report as a message.
func (r Report) Encode() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic("remote: " + err.Error()) // for numbers that are none alone
	}
	return text
}

// maxRun is the longest name of a run, in bytes.
const maxRun = 64

// DecodeReport reads a message. Errors wrap ErrMessage.
func DecodeReport(msg []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(msg, &r); err != nil || len(r.Run) > maxRun {
		return Report{}, ErrMessage
	}
	return r, nil
}

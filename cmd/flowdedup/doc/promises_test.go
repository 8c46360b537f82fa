// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// promises are the promises of guarantees.md and security.md, by their beginnings, and by folder the
// tests, fuzz targets and scripts that hold them.
var promises = []struct {
	page, begins string
	tests        []string
}{
	{"guarantees.md", "Each packet of the input is in the output,", []string{"cmd/flowdedup/internal/verify: TestScripts/verify", "cmd/flowdedup/internal/dedup: TestDedupModel TestPreferModel", "engine/window: TestTimedFPR"}},
	{"guarantees.md", "A right packet is no copy of a packet", []string{"cmd/flowdedup/internal/dedup: TestEvasions TestEvasionsVerified", "asm/headers: TestFindBroken"}},
	{"guarantees.md", "Packets stay as they were, in order (without `--strip`,", []string{"capture/pcapfile: FuzzWriterRoundTrip TestCopyPcapNG TestCopyPcap", "cmd/flowdedup/internal/dedup: TestDedupModelBundled"}},
	{"guarantees.md", "The result does not depend on threads, batches, or the CPU.", []string{"cmd/flowdedup/internal/cli: TestWorkers TestBatchEnds", "engine/window: TestTimed", "asm/digest: TestAESMessageLevels"}},
	{"guarantees.md", "With `--keep flow`, conversations keep their point where a", []string{"cmd/flowdedup/internal/dedup: TestScripts/within", "capture/pcapfile: TestContinued"}},
	{"guarantees.md", "An output is complete, or its name says that", []string{"cmd/flowdedup/internal/cli: TestKilledAnyTime TestFullDiskEnds TestFileLimit", "bench/faults: TestFaults", "capture/outfile: TestCommit"}},
	{"guarantees.md", "Nothing is removed or replaced but what this program", []string{"cmd/flowdedup/internal/cli: TestScripts/rotation TestScripts/folders TestEveryFile", "capture/outfile: TestSeriesKnows TestSeriesRemoves TestForeign"}},
	{"guarantees.md", "Damaged input ends with exit code 3, after everything", []string{"cmd/flowdedup/internal/cli: TestHostile TestScripts/inputs", "capture/pcapfile: FuzzPcap FuzzPcapNG TestPcapNGDamage"}},
	{"guarantees.md", "Memory is bounded, whatever the input holds: 256 MiB", []string{"bench/bounds: TestBounds TestFloods", "cmd/flowdedup/internal/cli: TestPeakMemory TestLargeBlocks"}},
	{"guarantees.md", "`flows --listen` judges each datagram, or counts it as", []string{"cmd/flowdedup/internal/flows: TestEndCounts"}},
	{"guarantees.md", "Windows of counts close in the order of time", []string{"cmd/flowdedup/internal/distinct: TestGapsOfManyWindows", "engine/distinct/windows: TestChangesOfAnyOrder", "engine/calendar: TestStreamGoesOn TestStreamJumps"}},
	{"guarantees.md", "What a filter forgets lets a copy through, and", []string{"engine/window: TestTimedFull TestSuggestedMemoryIsEnough"}},
	{"guarantees.md", "While the hub's disk is full, its counts stay,", []string{"engine/cluster/counts: TestFullDisk"}},
	{"guarantees.md", "No size or count in a file or message", []string{"engine/cluster/counts: TestBounded", "cmd/flowdedup/internal/dedup: TestTimelineWild", "capture/records/export: TestWildNumbers", "engine/distinct/countfile: TestPacketsAddUp"}},
	{"guarantees.md", "A clock that is set back stops no packet", []string{"capture/records/match: TestHoldClockSet", "cmd/flowdedup/internal/flows: TestClockSet", "cmd/flowdedup/internal/live: TestSlideClockSet", "engine/calendar: TestExpireSetBack", "capture/afpacket: TestClockSetBack", "capture/mirror: TestPick", "engine/window: TestTimedHostile TestWildTimes TestExactWindowGoesBack"}},
	{"security.md", "Every parser is bounded.", []string{"capture/pcapfile: FuzzPcap FuzzPcapNG", "capture/headers: FuzzDecode", "capture/identity: FuzzIdentity", "capture/bpf: FuzzRun", "engine/distinct/countfile: FuzzOpen", "engine/window: FuzzRestoreTimed", "engine/hubclient: FuzzReceive", "bench/bounds: TestBounds"}},
	{"security.md", "Nobody can cheat a filter.", []string{"engine: TestRandomSecret TestDerivedKeys", "asm/digest: TestAESKeyLevels TestAESMessageLevels", "capture/records/match: TestHostile TestFlood"}},
	{"security.md", "A form that nobody reads hides no packet.", []string{"cmd/flowdedup/internal/dedup: TestEvasions TestEvasionsReplaced TestEvasionsVerified", "capture/identity: TestBroken", "capture/headers: TestPlain", "capture/dedup: TestPairsFlood TestHubUnfit"}},
	{"security.md", "It asks for little.", []string{"cmd/flowdedup/internal/live: TestLivePrivileges", "cmd/flowdedup/internal/monitor: TestUnit"}},
	{"security.md", "`--http` listens on this host", []string{"cmd/flowdedup/web: TestToken TestAddress TestHosts TestAttack TestLimited TestConnections", "capture/pcapoverip: TestParseAddress"}},
	{"security.md", "Nobody takes the room of others.", []string{"capture/pcapoverip: TestReceiveSilent TestReceiveSilentTLS TestReceiveRefuses TestPeerOfManyInterfaces TestRefusalsAreFewLines", "capture/mirror: TestPointsOfTargets TestManyPoints", "bench/bounds: TestFloods"}},
	{"security.md", "Forged fragments remove nothing.", []string{"capture/reassemble: TestJoin TestFlood"}},
	{"security.md", "Exporters choose no memory.", []string{"cmd/flowdedup/internal/flows: TestWildTimes TestLongRecords TestFlowsAttacker", "capture/records/match: TestHoldMemory TestHoldBytes TestFlood", "capture/records/export: TestHoldIsBounded TestSourcesAreBounded TestKnownSources TestTemplatesAreBounded"}},
	{"security.md", "A site of a hub gets no more than it may.", []string{"engine/cluster/hub: TestAttacker TestReplySubjects TestWall TestGhostLease TestBadRequests TestTurns TestConnections TestBan TestSubscriptions TestDenied TestRefusedLog", "engine/cluster/counts: TestPromise TestShare TestExpires", "engine/cluster: TestExternalServer"}},
	{"security.md", "Names from outside cannot change what a terminal shows", []string{"cmd/flowdedup/internal/show: TestPrintable TestQuote", "engine/distinct/countfile: TestNames", "bench/bounds: TestBounds"}},
}

// TestPromises finds a test for each promise of the manual, and each promise of the list in its page.
func TestPromises(t *testing.T) {
	security, _, _ := strings.Cut(read(t, "security.md"), "\n## ")
	var items []string
	for page, text := range map[string]string{"guarantees.md": section(t, "guarantees.md", "## What is promised"), "security.md": security} {
		for _, item := range strings.Split(text, "\n- ")[1:] {
			items = append(items, page+": "+strings.ReplaceAll(oneLine(item), "**", ""))
		}
	}
	for _, p := range promises {
		at := slices.IndexFunc(items, func(item string) bool { return strings.HasPrefix(item, p.page+": "+p.begins) })
		if at < 0 {
			t.Errorf("%s does not promise %q", p.page, p.begins)
			continue
		}
		items = slices.Delete(items, at, at+1)
		for _, tests := range p.tests {
			folder, names, _ := strings.Cut(tests, ": ")
			for name := range strings.FieldsSeq(names) {
				if !hasTest(t, folder, name) {
					t.Errorf("%s: no %s in %s", p.page, name, folder)
				}
			}
		}
	}
	for _, item := range items {
		t.Errorf("nothing holds %s", item)
	}
}

// section returns the part of a page under a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, page), heading+"\n")
	if !ok {
		t.Fatalf("%s has no %s", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// hasTest reports whether a folder of the project has a test or a fuzz target, or a script for TestScripts/.
func hasTest(t *testing.T, folder, test string) bool {
	t.Helper()
	if script, ok := strings.CutPrefix(test, "TestScripts/"); ok {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder), "testdata", "script", script+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}

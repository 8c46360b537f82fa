// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// promises are the promises of guarantees.md and security.md, by their beginnings, and by folder the
// tests, fuzz targets and scripts that hold them.
var promises = []struct {
	begins string
	tests  []string
}{
	{"Each packet of the input is in the output,", []string{"cmd/flowdedup/internal/verify: TestScripts/verify", "cmd/flowdedup/internal/dedup: TestDedupModel TestPreferModel", "engine/window: TestTimedFPR", "bench: TestTimedLookups"}},
	{"A right packet is no copy of a packet", []string{"cmd/flowdedup/internal/dedup: TestEvasions TestEvasionsVerified", "asm/headers: TestFindBroken"}},
	{"Packets stay as they were, in order (without `--strip`,", []string{"capture/pcapfile: FuzzWriterRoundTrip TestCopyPcapNG TestCopyPcap", "cmd/flowdedup/internal/dedup: TestDedupModelBundled"}},
	{"The result does not depend on threads, batches, or the CPU.", []string{"cmd/flowdedup/internal/cli: TestWorkers TestBatchEnds", "engine/window: TestTimed", "asm/digest: TestAESMessageLevels"}},
	{"With `--keep flow`, conversations keep their point where a", []string{"cmd/flowdedup/internal/dedup: TestScripts/within", "capture/pcapfile: TestContinued"}},
	{"An output is complete, or its name says that", []string{"cmd/flowdedup/internal/cli: TestKilledAnyTime TestFullDiskEnds TestFileLimit", "bench/faults: TestFaults", "capture/outfile: TestCommit"}},
	{"Nothing is removed or replaced but what this program", []string{"cmd/flowdedup/internal/cli: TestScripts/rotation TestScripts/folders TestEveryFile", "capture/outfile: TestSeriesKnows TestSeriesRemoves TestForeign"}},
	{"Damaged input ends with exit code 3, after everything", []string{"cmd/flowdedup/internal/cli: TestHostile TestScripts/inputs", "capture/pcapfile: FuzzPcap FuzzPcapNG TestPcapNGDamage"}},
	{"Memory is bounded, whatever the input holds: 256 MiB", []string{"bench/bounds: TestBounds TestFloods", "cmd/flowdedup/internal/cli: TestPeakMemory TestLargeBlocks"}},
	{"`flows --listen` judges each datagram, or counts it as", []string{"cmd/flowdedup/internal/flows: TestEndCounts"}},
	{"Windows of counts close in the order of time", []string{"cmd/flowdedup/internal/distinct: TestGapsOfManyWindows", "engine/distinct/windows: TestChangesOfAnyOrder", "engine/calendar: TestStreamGoesOn TestStreamJumps"}},
	{"What a filter forgets lets a copy through, and", []string{"engine/window: TestTimedFull TestSuggestedMemoryIsEnough"}},
	{"While the hub's disk is full, its counts stay,", []string{"engine/cluster/counts: TestFullDisk"}},
	{"No size or count in a file or message", []string{"engine/cluster/counts: TestBounded", "cmd/flowdedup/internal/dedup: TestTimelineWild", "capture/records/export: TestWildNumbers", "engine/distinct/countfile: TestPacketsAddUp"}},
	{"A clock that is set back stops no packet", []string{"capture/records/match: TestHoldClockSet", "cmd/flowdedup/internal/flows: TestClockSet", "cmd/flowdedup/internal/live: TestSlideClockSet", "engine/calendar: TestExpireSetBack", "capture/afpacket: TestClockSetBack", "capture/mirror: TestPick", "engine/window: TestTimedHostile TestWildTimes TestExactWindowGoesBack"}},
	{"**Every parser is bounded.**", []string{"capture/pcapfile: FuzzPcap FuzzPcapNG", "capture/headers: FuzzDecode", "capture/identity: FuzzIdentity", "capture/bpf: FuzzRun", "engine/distinct/countfile: FuzzOpen", "engine/window: FuzzRestoreTimed", "engine/hubclient: FuzzReceive", "bench/bounds: TestBounds"}},
	{"**Nobody can cheat a filter.**", []string{"engine: TestRandomSecret TestDerivedKeys", "asm/digest: TestAESKeyLevels TestAESMessageLevels", "capture/records/match: TestHostile TestFlood"}},
	{"**A form that nobody reads hides no packet.**", []string{"cmd/flowdedup/internal/dedup: TestEvasions TestEvasionsReplaced TestEvasionsVerified", "capture/identity: TestBroken", "capture/headers: TestPlain", "capture/dedup: TestPairsFlood TestHubUnfit"}},
	{"**It asks for little.**", []string{"cmd/flowdedup/internal/live: TestLivePrivileges", "cmd/flowdedup/internal/monitor: TestUnit"}},
	{"**`--http` listens on this host**", []string{"cmd/flowdedup/web: TestToken TestAddress TestHosts TestAttack TestLimited TestConnections", "capture/pcapoverip: TestParseAddress"}},
	{"**Nobody takes the room of others.**", []string{"capture/pcapoverip: TestReceiveSilent TestReceiveSilentTLS TestReceiveRefuses TestPeerOfManyInterfaces TestRefusalsAreFewLines", "capture/mirror: TestPointsOfTargets TestManyPoints", "bench/bounds: TestFloods"}},
	{"**Forged fragments remove nothing.**", []string{"capture/reassemble: TestJoin TestFlood"}},
	{"**Exporters choose no memory.**", []string{"cmd/flowdedup/internal/flows: TestWildTimes TestLongRecords TestFlowsAttacker", "capture/records/match: TestHoldMemory TestHoldBytes TestFlood", "capture/records/export: TestHoldIsBounded TestSourcesAreBounded TestKnownSources TestTemplatesAreBounded"}},
	{"**A site of a hub gets no more than it may.**", []string{"engine/cluster/hub: TestAttacker TestReplySubjects TestWall TestGhostLease TestBadRequests TestTurns TestConnections TestBan TestSubscriptions TestDenied TestRefusedLog", "engine/cluster/counts: TestPromise TestShare TestExpires", "engine/cluster: TestExternalServer"}},
	{"**Names from outside cannot change what a terminal shows**", []string{"cmd/flowdedup/internal/show: TestPrintable TestQuote", "engine/distinct/countfile: TestNames", "bench/bounds: TestBounds"}},
}

// TestPromises finds tests for each promise of the manual.
func TestPromises(t *testing.T) {
	security, _, _ := strings.Cut(read(t, "security.md"), "\n## ")
	text := section(t, "guarantees.md", "## What is promised") + security
	if n := strings.Count(text, "\n- "); n != len(promises) {
		t.Errorf("%d promises, tests are listed for %d", n, len(promises))
	}
	for _, p := range promises {
		if !strings.Contains(text, "\n- "+p.begins) {
			t.Errorf("nothing promises %q", p.begins)
		}
		for _, tests := range p.tests {
			folder, names, _ := strings.Cut(tests, ": ")
			for name := range strings.FieldsSeq(names) {
				if !hasTest(t, folder, name) {
					t.Errorf("%s: no %s in %s", p.begins, name, folder)
				}
			}
		}
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

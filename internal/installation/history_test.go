// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// keeper is a root installation whose specs change.
type keeper struct {
	*lsv1alpha1.Installation
	now  time.Time
	jobs int
}

func newKeeper(flow lsv1alpha1.Flow) *keeper {
	k := &keeper{Installation: &lsv1alpha1.Installation{}, now: noon}
	k.Spec.Flow = flow
	return k
}

// version changes the spec.
func (k *keeper) version(version string) *keeper {
	k.Generation++
	k.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{
		Reference: &lsv1alpha1.ComponentDescriptorReference{ComponentName: "example.com/shop", Version: version},
	}
	return k
}

// inline changes the spec to one with a blueprint of the given content.
func (k *keeper) inline(content string) *keeper {
	k.Generation++
	raw, err := json.Marshal(map[string]string{"blueprint.yaml": content})
	if err != nil {
		panic(err)
	}
	k.Spec.Blueprint.Inline = &lsv1alpha1.InlineBlueprint{Filesystem: lsv1alpha1.AnyJSON{Raw: raw}}
	return k
}

// settle settles one decision, a minute after the previous one.
func (k *keeper) settle(d installation.Decision, err error, changes ...func(*installation.Observed)) *keeper {
	k.now = k.now.Add(time.Minute)
	o := installation.Observed{
		Root: true, Continuous: k.Spec.Flow == lsv1alpha1.FlowContinuous, Phase: k.Status.Phase, Job: run.JobOf(&k.Status.RunStatus),
		NewJobID: fmt.Sprint("job-", k.jobs), Deleting: k.DeletionTimestamp != nil, Now: k.now,
	}
	for _, change := range changes {
		change(&o)
	}
	installation.Settle(k.Installation, o, d, err)
	return k
}

func prepared(o *installation.Observed) { o.Prepared = &installation.Prepared{} }

// begin starts a job, or an update of the continuous flow.
func (k *keeper) begin() *keeper {
	if k.Spec.Flow == lsv1alpha1.FlowContinuous {
		return k.settle(installation.Decision{Next: lsv1alpha1.PhasePendingDependencies}, nil).prepare()
	}
	k.jobs++
	return k.settle(installation.Decision{Next: lsv1alpha1.PhaseInit}, nil)
}

// prepare is the step that uses the spec.
func (k *keeper) prepare() *keeper {
	return k.settle(installation.Decision{Next: lsv1alpha1.PhaseProgressing}, nil, prepared)
}

func (k *keeper) end(phase lsv1alpha1.Phase) *keeper {
	return k.settle(installation.Decision{Next: phase, Why: decision.Reason{Code: run.ReasonSubObjectFailed}}, nil)
}

// told returns the history in short form: revision, job, version, result, and whether it has ever succeeded.
func (k *keeper) told() []string {
	var lines []string
	for _, r := range k.Status.History {
		line := fmt.Sprintf("%d %s %s %s", r.Revision, r.JobID, r.ComponentVersion, r.Result)
		if r.SucceededTime != nil {
			line += " succeeded"
		}
		lines = append(lines, line)
	}
	return lines
}

func (k *keeper) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, k.told()); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

func TestARootKeepsItsLastSpecs(t *testing.T) {
	for flow, job := range map[lsv1alpha1.Flow]string{"": "job-%d", lsv1alpha1.FlowContinuous: ""} {
		k := newKeeper(flow)
		specs := map[int64]lsv1alpha1.InstallationSpec{}
		for i := 1; i <= 7; i++ {
			k.version(fmt.Sprint("v", i)).begin().prepare().end(map[bool]lsv1alpha1.Phase{
				true: lsv1alpha1.PhaseFailed, false: lsv1alpha1.PhaseSucceeded,
			}[i == 6])
			specs[int64(i)] = *k.Spec.DeepCopy()
		}
		var want []string
		for i := 7; i > 2; i-- {
			id, result := job, "Succeeded succeeded"
			if job != "" {
				id = fmt.Sprintf(job, i)
			}
			if i == 6 {
				result = "Failed"
			}
			want = append(want, fmt.Sprintf("%d %s v%d %s", i, id, i, result))
		}
		k.expect(t, want...)
		for _, r := range k.Status.History {
			text, err := installation.KeptSpec(r)
			if err != nil {
				t.Fatal(err)
			}
			var kept lsv1alpha1.InstallationSpec
			if err := json.Unmarshal(text, &kept); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(specs[r.Revision], kept); diff != "" || r.SpecHash != installation.SpecHash(kept) {
				t.Errorf("revision %d has the spec (-want +got):\n%s", r.Revision, diff)
			}
			if r.Generation != r.Revision || r.ComponentName != "example.com/shop" || !r.StartTime.Time.Before(r.EndTime.Time) {
				t.Errorf("%+v", r)
			}
		}
		// A pass at rest adds nothing, nor does a deletion.
		before := k.Status.DeepCopy().History
		k.settle(installation.Decision{}, nil)
		k.DeletionTimestamp = &metav1.Time{Time: k.now}
		k.Generation++
		k.begin().prepare().end(lsv1alpha1.PhaseFailed)
		if diff := cmp.Diff(before, k.Status.History); diff != "" {
			t.Errorf("the deletion changes the history (-want +got):\n%s", diff)
		}
	}
}

func TestJOB20_JobsWithTheSameSpecShareARevision(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		k := newKeeper(flow).version("v1").begin().prepare().end(lsv1alpha1.PhaseSucceeded)
		first := k.Status.DeepCopy().History[0]
		k.begin().prepare()
		second := k.Status.History[0]
		if len(k.Status.History) != 1 || second.Revision != 1 || second.Result != "" || second.EndTime != nil ||
			!second.SucceededTime.Equal(first.SucceededTime) || !first.StartTime.Before(&second.StartTime) {
			t.Errorf("%s: while the second job runs: %+v", flow, k.Status.History)
		}
		if flow == lsv1alpha1.FlowJob && second.JobID != "job-2" {
			t.Errorf("the last job is %s", second.JobID)
		}
		k.end(lsv1alpha1.PhaseFailed)
		third := k.Status.History[0]
		if third.Result != lsv1alpha1.PhaseFailed || !third.SucceededTime.Equal(first.EndTime) || !bytes.Equal(third.Spec, first.Spec) {
			t.Errorf("%s: after the second job: %+v", flow, third)
		}
	}
}

// A pass that is repeated because its status write was lost, or because the process stopped after it, leads to the same history.
func TestAfterACrashTheHistoryIsTheSame(t *testing.T) {
	for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		k := newKeeper(flow).version("v1").begin().prepare().end(lsv1alpha1.PhaseSucceeded).version("v2")
		lost := &keeper{Installation: k.DeepCopy(), now: k.now, jobs: k.jobs}
		lost.begin().prepare()
		k.begin().prepare()
		if diff := cmp.Diff(lost.Status.History, k.Status.History); diff != "" {
			t.Errorf("%s: the repetition gives (-want +got):\n%s", flow, diff)
		}
		if flow == lsv1alpha1.FlowJob {
			before := k.Status.DeepCopy().History
			k.prepare()
			if diff := cmp.Diff(before, k.Status.History); diff != "" {
				t.Errorf("the step is repeated (-want +got):\n%s", diff)
			}
		}
	}
}

// The spec that the job uses counts, not the one with which it started to wait.
func TestJOB20_ASpecThatChangesWhileAJobWaits(t *testing.T) {
	k := newKeeper(lsv1alpha1.FlowJob).version("v1").begin().version("v2").prepare().end(lsv1alpha1.PhaseSucceeded)
	k.expect(t, "1 job-1 v2 Succeeded succeeded")
	// The next job waits with the same spec, and uses another one.
	k.begin()
	k.expect(t, "1 job-1 v2 Succeeded succeeded")
	k.version("v3").prepare()
	k.expect(t, "2 job-2 v3 ", "1 job-1 v2 Succeeded succeeded")
	k.end(lsv1alpha1.PhaseFailed)
	k.expect(t, "2 job-2 v3 Failed", "1 job-1 v2 Succeeded succeeded")
	k.begin().version("v4").prepare()
	k.expect(t, "3 job-3 v4 ", "2 job-2 v3 Failed", "1 job-1 v2 Succeeded succeeded")
	// Later changes belong to the next job.
	k.version("v5").end(lsv1alpha1.PhaseSucceeded)
	k.expect(t, "3 job-3 v4 Succeeded succeeded", "2 job-2 v3 Failed", "1 job-1 v2 Succeeded succeeded")
	k.begin()
	k.expect(t, "4 job-4 v5 ", "3 job-3 v4 Succeeded succeeded", "2 job-2 v3 Failed", "1 job-1 v2 Succeeded succeeded")
	// A spec that is taken back in time leaves nothing.
	k.version("v4").prepare()
	k.expect(t, "3 job-4 v4  succeeded", "2 job-2 v3 Failed", "1 job-1 v2 Succeeded succeeded")
	k.end(lsv1alpha1.PhaseSucceeded)
	k.expect(t, "3 job-4 v4 Succeeded succeeded", "2 job-2 v3 Failed", "1 job-1 v2 Succeeded succeeded")
}

// A job that ends before it has used a spec ends with the one that the installation has then.
func TestAJobThatEndsWhileItWaits(t *testing.T) {
	broken := failure.NewTerminal(failure.Details{}, errors.New("no such blueprint"))
	k := newKeeper(lsv1alpha1.FlowJob).version("v1").begin().prepare().end(lsv1alpha1.PhaseSucceeded)
	k.begin().settle(installation.Decision{}, broken)
	k.expect(t, "1 job-2 v1 Failed succeeded")
	k.begin().version("v2").settle(installation.Decision{}, broken)
	k.expect(t, "2 job-3 v2 Failed", "1 job-2 v1 Failed succeeded")
	k.version("v3").begin().version("v4").settle(installation.Decision{}, broken)
	k.expect(t, "3 job-4 v4 Failed", "2 job-3 v2 Failed", "1 job-2 v1 Failed succeeded")
	// A deletion uses no spec.
	k.DeletionTimestamp = &metav1.Time{Time: k.now}
	k.version("v5").settle(installation.Decision{Next: lsv1alpha1.PhaseInitDelete}, nil).end(lsv1alpha1.PhaseDeleteFailed)
	k.expect(t, "3 job-4 v4 Failed", "2 job-3 v2 Failed", "1 job-2 v1 Failed succeeded")
}

func TestUpdatesThatEndEarly(t *testing.T) {
	broken := failure.NewTerminal(failure.Details{}, errors.New("no such blueprint"))
	k := newKeeper(lsv1alpha1.FlowContinuous).version("v1").begin().end(lsv1alpha1.PhaseSucceeded)
	k.version("v2").settle(installation.Decision{Next: lsv1alpha1.PhasePendingDependencies}, nil).settle(installation.Decision{}, broken)
	k.expect(t, "2  v2 Failed", "1  v1 Succeeded succeeded")
	// Another spec arrives while an update is in progress.
	k.version("v3").begin().version("v4").begin().end(lsv1alpha1.PhaseSucceeded)
	k.expect(t, "4  v4 Succeeded succeeded", "3  v3 ", "2  v2 Failed", "1  v1 Succeeded succeeded")
	// A spec that is aborted before it is used was never installed, and says nothing against the previous one.
	k.version("v5").settle(installation.Decision{
		Next: lsv1alpha1.PhaseAborted, Why: decision.Reason{Code: lsv1alpha1.ReasonAborted},
	}, nil)
	k.expect(t, "4  v4 Succeeded succeeded", "3  v3 ", "2  v2 Failed", "1  v1 Succeeded succeeded")
	k.begin().settle(installation.Decision{Next: lsv1alpha1.PhaseAborted, Why: decision.Reason{Code: lsv1alpha1.ReasonAborted}}, nil)
	k.expect(t, "5  v5 Aborted", "4  v4 Succeeded succeeded", "3  v3 ", "2  v2 Failed", "1  v1 Succeeded succeeded")
}

func TestAJobThatFailsAtOnceIsInTheHistory(t *testing.T) {
	k := newKeeper(lsv1alpha1.FlowJob).version("v1").begin()
	k.settle(installation.Decision{}, failure.NewTerminal(failure.Details{}, errors.New("no such blueprint")))
	k.expect(t, "1 job-1 v1 Failed")
}

func TestANestedInstallationKeepsNoSpecs(t *testing.T) {
	k := newKeeper(lsv1alpha1.FlowJob).version("v1")
	k.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"}
	if k.begin().prepare().end(lsv1alpha1.PhaseSucceeded); len(k.Status.History) != 0 {
		t.Error(k.Status.History)
	}
}

func TestTheComponentOfARevision(t *testing.T) {
	for inline, want := range map[string]string{
		`{"component": {"name": "example.com/a", "version": "1.0.0"}}`: "example.com/a 1.0.0",
		`{"metadata": {"name": "example.com/b", "version": "2.0.0"}}`:  "example.com/b 2.0.0",
		`{"component": {"name": "` + strings.Repeat("n", 5000) + `"}}`: strings.Repeat("n", 255) + "… ",
		`{"component": "none"}`: " ",
	} {
		k := newKeeper(lsv1alpha1.FlowJob).version("")
		k.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{Inline: &lsv1alpha1.AnyJSON{Raw: json.RawMessage(inline)}}
		r := k.begin().Status.History[0]
		if got := r.ComponentName + " " + r.ComponentVersion; got != want {
			t.Errorf("%.60s: %s", inline, got)
		}
	}
}

// noise is incompressible: each byte has six random bits.
func noise(size int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	source, text := rand.New(rand.NewPCG(1, uint64(size))), make([]byte, size)
	for i := range text {
		text[i] = letters[source.IntN(len(letters))]
	}
	return string(text)
}

func TestTheHistoryIsBounded(t *testing.T) {
	kept := func(k *keeper) string {
		var sizes []string
		for _, r := range k.Status.History {
			switch {
			case r.SpecTooLarge:
				sizes = append(sizes, "too large")
			case r.Spec == nil:
				sizes = append(sizes, "dropped")
			default:
				sizes = append(sizes, "kept")
			}
		}
		return strings.Join(sizes, ", ")
	}
	k := newKeeper(lsv1alpha1.FlowJob)
	for _, step := range []struct {
		content, want string
	}{
		{"small", "kept"},
		{noise(120 << 10), "too large, kept"},
		{noise(70 << 10), "kept, too large, kept"},
		{noise(71 << 10), "kept, kept, too large, kept"},
		{noise(72 << 10), "kept, kept, dropped, too large, dropped"},
		{"small again", "kept, kept, kept, dropped, too large"},
		{strings.Repeat("large, and easy to compress; ", 20<<10), "too large, dropped, dropped, dropped, dropped"},
		{"small", "kept, too large, dropped, dropped, dropped"},
	} {
		k.inline(step.content).begin().prepare().end(lsv1alpha1.PhaseSucceeded)
		if got := kept(k); got != step.want {
			t.Errorf("after a spec of %d bytes: %s, want %s", len(step.content), got, step.want)
		}
		status, err := json.Marshal(k.Status)
		if err != nil || len(status) > 200<<10 {
			t.Errorf("the status has %d bytes: %v", len(status), err)
		}
	}
}

// docs/performance.md states what the history adds to the status of a typical installation.
func TestTheHistoryOfAUsualInstallationIsSmall(t *testing.T) {
	k := newKeeper(lsv1alpha1.FlowJob)
	for i := range 5 {
		k.Spec.Context = "default"
		k.Spec.Blueprint.Reference = &lsv1alpha1.RemoteBlueprintReference{ResourceName: "blueprint"}
		k.Spec.Imports.Data = []lsv1alpha1.DataImport{{Name: "domain", DataRef: "domain"}, {Name: "settings", DataRef: "shop-settings"}}
		k.Spec.Imports.Targets = []lsv1alpha1.TargetImport{{Name: "cluster", Target: "production"}}
		k.Spec.Exports.Data = []lsv1alpha1.DataExport{{Name: "url", DataRef: "shop-url"}}
		k.version(fmt.Sprintf("1.%d.0", i)).begin().prepare().end(lsv1alpha1.PhaseSucceeded)
	}
	text, err := json.Marshal(k.Status.History)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d revisions have %d bytes", len(k.Status.History), len(text))
	if len(text) > 4<<10 {
		t.Errorf("%d revisions have %d bytes", len(k.Status.History), len(text))
	}
}

// Large numbers keep their digits, and the order of keys does not matter.
func TestSpecsAreKeptAsTheyAre(t *testing.T) {
	k := newKeeper(lsv1alpha1.FlowJob).version("v1")
	k.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"n": {Raw: json.RawMessage(`{"b": 12345678901234567890, "a": "<&>"}`)}}
	k.begin()
	text, err := installation.KeptSpec(k.Status.History[0])
	if err != nil || !strings.Contains(string(text), "12345678901234567890") {
		t.Errorf("%s, %v", text, err)
	}
	hash := installation.SpecHash(k.Spec)
	k.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"n": {Raw: json.RawMessage(`{"a":"<&>","b":12345678901234567890}`)}}
	if installation.SpecHash(k.Spec) != hash {
		t.Error("another form of the same spec has another hash")
	}
	k.Spec.ImportDataMappings = map[string]lsv1alpha1.AnyJSON{"n": {Raw: json.RawMessage(`{"a":"<&>","b":12345678901234567891}`)}}
	if installation.SpecHash(k.Spec) == hash {
		t.Error("another number has the same hash")
	}
}

func TestDamagedSpecsAreErrors(t *testing.T) {
	pack := func(text string) []byte {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return packed.Bytes()
	}
	good := newKeeper(lsv1alpha1.FlowJob).version("v1").begin().Status.History[0]
	for name, c := range map[string]struct {
		change func(*lsv1alpha1.SpecRevision)
		want   string
	}{
		"too large":  {func(r *lsv1alpha1.SpecRevision) { r.Spec, r.SpecTooLarge = nil, true }, "its spec is not kept: it has more than 512 KiB"},
		"dropped":    {func(r *lsv1alpha1.SpecRevision) { r.Spec = nil }, "its spec is not kept any more"},
		"no gzip":    {func(r *lsv1alpha1.SpecRevision) { r.Spec = []byte("{}") }, "it is not compressed with gzip"},
		"cut off":    {func(r *lsv1alpha1.SpecRevision) { r.Spec = r.Spec[:len(r.Spec)-6] }, "its spec is damaged: unexpected EOF"},
		"a bomb":     {func(r *lsv1alpha1.SpecRevision) { r.Spec = pack(strings.Repeat(" ", 2<<20)) }, "it has more than 512 KiB"},
		"other hash": {func(r *lsv1alpha1.SpecRevision) { r.Spec = pack(`{"context":"mine"}`) }, "it does not match specHash"},
	} {
		r := *good.DeepCopy()
		c.change(&r)
		text, err := installation.KeptSpec(r)
		if err == nil || !strings.Contains(err.Error(), c.want) || text != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

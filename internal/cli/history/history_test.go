// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/history"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

const (
	succeeded = lsv1alpha1.PhaseSucceeded
	failed    = lsv1alpha1.PhaseFailed
)

// contains checks the parts of a text, in order.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q is missing, or not in this order, in:\n%s", part, text)
			return
		}
		rest = after
	}
}

// Real controllers and deployers install a green, a blue and a broken shop. Rolling back installs the blue one again, then the green one.
func TestARollbackInstallsWhatWasInstalled(t *testing.T) {
	w := newWorld(t)
	w.Create(testkit.Target(w.Namespace, "cluster").Cluster(w.T, w.APIServer).Build(), w.shop("green").Reconcile().Build())
	w.Manage()
	testkit.EventuallyFinished(w.T, w.APIServer, w.shop("green").Build(), succeeded)
	w.paint("blue", succeeded)
	w.paint("{{ broken", failed)

	got := w.run(history.New, "shop")
	lines := strings.Split(got.Stdout, "\n")
	if got.Code != cli.ExitOK || len(lines) != 5 {
		t.Fatalf("%+v", got)
	}
	contains(t, lines[0], "REVISION", "STARTED", "JOB", "COMPONENT", "VERSION", "RESULT", "CHANGES")
	contains(t, lines[1], "3 ", "Failed", "blueprint.inline.filesystem.blueprint.yaml")
	contains(t, lines[2], "2 ", "Succeeded", "blueprint.inline.filesystem.blueprint.yaml")
	contains(t, lines[3], "1 ", "Succeeded", "-")

	before := w.root()
	got = w.run(history.NewRollback, "shop", "--dry-run")
	if after := w.root(); got.Code != cli.ExitOK || after.Generation != before.Generation ||
		after.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		t.Errorf("a dry run has changed generation %d to %d: %+v", before.Generation, after.Generation, got)
	}
	contains(t, got.Stdout, "--- present spec\n+++ revision 2\n", "@@ ", "-", "colour: {{ broken", "+", "colour: blue")
	contains(t, got.Stderr, "Dry run: installation shop was not rolled back to revision 2.")
	got = w.answer("no\n", history.NewRollback, "shop")
	if after := w.root(); got.Code != cli.ExitError || after.Generation != before.Generation {
		t.Errorf("without confirmation: %+v", got)
	}
	contains(t, got.Stderr, "+++ revision 2", "This rolls installation shop back to revision 2", "not confirmed, so nothing was changed")

	got = w.run(history.NewRollback, "shop", "--yes", "--wait")
	if got.Code != cli.ExitOK || got.Stdout != "installation shop has succeeded\n" || w.colour() != "blue" {
		t.Fatalf("the ConfigMap is %s: %+v", w.colour(), got)
	}
	got = w.answer("yes\n", history.NewRollback, "shop", "--to", "1", "--wait")
	if got.Code != cli.ExitOK || w.colour() != "green" {
		t.Fatalf("the ConfigMap is %s: %+v", w.colour(), got)
	}
	var printed struct{ Revisions []history.Revision }
	got = w.run(history.New, "shop", "-o", "json")
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil || len(printed.Revisions) != 5 {
		t.Fatalf("%v: %+v", err, got)
	}
	type brief struct {
		Revision int64
		Result   string
		Present  bool
	}
	var told []brief
	for _, r := range printed.Revisions {
		told = append(told, brief{r.Revision, r.Result, r.Present})
	}
	want := []brief{{5, "Succeeded", true}, {4, "Succeeded", false}, {3, "Failed", false}, {2, "Succeeded", false}, {1, "Succeeded", true}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

// A job that waits with an unchanged spec has not used it, so the status still has the job before.
func TestHistoryShowsAJobThatWaits(t *testing.T) {
	w := newWorld(t)
	waiting := w.remembering(past{"1.0.0", succeeded}, past{"1.0.0", ""})
	if r := waiting.Status.History[0]; r.Result != lsv1alpha1.PhaseSucceeded {
		t.Fatalf("%+v", r)
	}
	w.stored(waiting)
	got := w.run(history.New, "shop")
	contains(t, got.Stdout, "22222222", "Running")
	if strings.Contains(got.Stdout, "11111111") || strings.Contains(got.Stdout, "Succeeded") {
		t.Errorf("%+v", got)
	}
}

func TestHistoryShowsSpecs(t *testing.T) {
	w := newWorld(t)
	w.stored(w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed}, past{"1.2.0", ""}))
	for _, test := range []struct {
		args  []string
		parts []string
	}{
		{nil, []string{"3 ", "33333333", "example.com/shop", "1.2.0", "Running", "componentDescriptor.ref.version", "2 ", "Failed", "1 ", "Succeeded"}},
		{[]string{"--revision", "1"}, []string{"blueprint:", "componentDescriptor:", "version: 1.0.0"}},
		{[]string{"--revision", "1", "-o", "json"}, []string{`"componentDescriptor"`, `"version": "1.0.0"`}},
		{[]string{"--revision", "1", "--diff"}, []string{"--- revision 1\n+++ present spec\n", "-    version: 1.0.0\n", "+    version: 1.2.0\n"}},
		{[]string{"-o", "wide"}, []string{"1 ", clitest.Ago(150*time.Minute).UTC().Format(time.RFC3339) + "   11111111"}},
		{[]string{"--revision", "1", "-o", "wide"}, []string{"componentDescriptor:", "version: 1.0.0"}},
		{[]string{"-o", "name"}, []string{"installation.landscaper.gardener.cloud/shop\n"}},
		{[]string{"-o", "yaml"}, []string{"revisions:", "- changes:", "componentVersion: 1.2.0", "present: true", "specKept: true"}},
	} {
		got := w.run(history.New, append([]string{"shop"}, test.args...)...)
		if got.Code != cli.ExitOK {
			t.Errorf("%v: %+v", test.args, got)
		}
		contains(t, got.Stdout, test.parts...)
	}
	if got := w.run(history.New, "shop", "--revision", "3", "--diff"); got.Code != cli.ExitOK || got.Stdout != "" {
		t.Errorf("the present spec differs from itself: %+v", got)
	}
	page, err := os.ReadFile("../../../docs/cli.md")
	if got := w.run(history.New, "shop").Stdout; err != nil || !strings.Contains(string(page), "$ espalier history shop\n"+got+"```\n") {
		t.Errorf("docs/cli.md does not show this: %v\n%s", err, got)
	}
	w.Create(testkit.Installation(w.Namespace, "blog").Build())
	if got := w.run(history.New, "blog"); got.Code != cli.ExitOK || !strings.Contains(got.Stderr, "Installation blog has no history yet") {
		t.Errorf("%+v", got)
	}
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(text)); err != nil || writer.Close() != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// What cannot be rolled back is refused before anything is written, in words that help.
func TestRollbackRefuses(t *testing.T) {
	oldest := func(change func(*lsv1alpha1.SpecRevision)) func(*lsv1alpha1.Installation) {
		return func(i *lsv1alpha1.Installation) { change(&i.Status.History[len(i.Status.History)-1]) }
	}
	for name, test := range map[string]struct {
		change func(*lsv1alpha1.Installation)
		args   []string
		code   int
		parts  []string
	}{
		"unknown revision":  {nil, []string{"--to", "9"}, cli.ExitNotFound, []string{"has no revision 9: its history has 2, 1", "espalier history shop"}},
		"no revision":       {nil, []string{"--to", "-1"}, cli.ExitError, []string{"--to is -1: it must be a revision number of 1 or more"}},
		"the present one":   {nil, []string{"--to", "2"}, cli.ExitError, []string{"already has the spec of revision 2", "espalier reconcile shop"}},
		"no such dry run":   {nil, []string{"--dry-run=both"}, cli.ExitError, []string{"--dry-run takes none, client, server"}},
		"waits for nothing": {nil, []string{"--dry-run", "--wait"}, cli.ExitError, []string{"leave out --wait"}},
		"no history": {
			func(i *lsv1alpha1.Installation) { i.Status.History = nil }, nil, cli.ExitError, []string{"has no earlier revision that succeeded"},
		},
		"none succeeded": {
			oldest(func(r *lsv1alpha1.SpecRevision) { r.SucceededTime = nil }), nil, cli.ExitError,
			[]string{"has no earlier revision that succeeded: choose a revision with --to", "espalier history shop"},
		},
		"too large": {
			oldest(func(r *lsv1alpha1.SpecRevision) { r.Spec, r.SpecTooLarge = nil, true }), nil, cli.ExitError,
			[]string{"revision 1 of installation shop cannot be used: its spec is not kept: it has more than 512 KiB"},
		},
		"dropped": {
			oldest(func(r *lsv1alpha1.SpecRevision) { r.Spec = nil }), nil, cli.ExitError, []string{"its spec is not kept any more"},
		},
		"damaged": {
			oldest(func(r *lsv1alpha1.SpecRevision) { r.Spec = []byte("rubbish") }), nil, cli.ExitError,
			[]string{"its spec is damaged: it is not compressed with gzip"},
		},
		"a bomb": {
			oldest(func(r *lsv1alpha1.SpecRevision) { r.Spec = pack(t, strings.Repeat("a", 2<<20)) }), nil, cli.ExitError,
			[]string{"its spec is damaged: it has more than 512 KiB"},
		},
		"another spec": {
			oldest(func(r *lsv1alpha1.SpecRevision) { r.Spec = pack(t, `{"blueprint":{}}`) }), nil, cli.ExitError,
			[]string{"its spec is damaged: it does not match specHash"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			inst := w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed})
			if test.change != nil {
				test.change(inst)
			}
			w.stored(inst)
			before := w.root()
			got := w.run(history.NewRollback, append([]string{"shop", "--yes"}, test.args...)...)
			if got.Code != test.code || got.Stdout != "" || w.root().ResourceVersion != before.ResourceVersion {
				t.Errorf("exit code %d, stdout %q", got.Code, got.Stdout)
			}
			contains(t, got.Stderr, test.parts...)
		})
	}
}

func TestRollbackRefusesNestedAndLeavingInstallations(t *testing.T) {
	w := newWorld(t)
	root := w.stored(w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed}))
	w.Create(clitest.Nested(root, "database").Build())
	for command, phrase := range map[string]string{"rollback": "roll back", "history": "show the history of"} {
		run := map[string]func(cli.Environment) *cobra.Command{"rollback": history.NewRollback, "history": history.New}[command]
		got := w.run(run, "shop-database")
		if got.Code != cli.ExitError {
			t.Errorf("%+v", got)
		}
		contains(t, got.Stderr, "cannot "+phrase+" it alone; its root is installation shop", "espalier "+command+" shop")
	}
	w.Delete(root)
	got := w.run(history.NewRollback, "shop", "--yes")
	if got.Code != cli.ExitError {
		t.Errorf("%+v", got)
	}
	contains(t, got.Stderr, "installation shop is being deleted: it cannot be rolled back", "espalier wait shop --for=deleted")
}

// restored checks that the installation has the spec of a version and is asked for a job, and returns it.
func (w *world) restored(version string) *lsv1alpha1.Installation {
	w.Helper()
	root := w.root()
	if got := root.Spec.ComponentDescriptor.Reference.Version; got != version {
		w.Errorf("the spec names version %s, want %s", got, version)
	}
	if operation := root.Annotations[lsv1alpha1.OperationAnnotation]; operation != string(lsv1alpha1.OperationReconcile) {
		w.Errorf("the operation is %q", operation)
	}
	return root
}

// The page of the command line shows what a dry run prints.
func TestTheExampleOfARollback(t *testing.T) {
	w := newWorld(t)
	w.stored(w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed}))
	page, err := os.ReadFile("../../../docs/cli.md")
	got := w.run(history.NewRollback, "shop", "--dry-run")
	if err != nil || !strings.Contains(string(page), "$ espalier rollback shop --dry-run\n"+got.Stdout+got.Stderr+"```\n") {
		t.Errorf("docs/cli.md does not show this: %v\n%s%s", err, got.Stdout, got.Stderr)
	}
}

// Only --dry-run=client does not ask the API server whether it would accept the change.
func TestDryRunsOfARollback(t *testing.T) {
	w := newWorld(t)
	w.stored(w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed}))
	reader, meta := "reader-of-"+w.Namespace, metav1.ObjectMeta{Namespace: w.Namespace, Name: "reader"}
	w.Create(
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"get"}, APIGroups: []string{lsv1alpha1.GroupName}, Resources: []string{"installations"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: reader}},
		})
	before := w.root()
	for _, test := range []struct {
		flag string
		code int
		want string
	}{
		{"--dry-run", cli.ExitNotFound, "cannot roll back installation shop"},
		{"--dry-run=server", cli.ExitNotFound, "cannot roll back installation shop"},
		{"--dry-run=client", cli.ExitOK, "Dry run: installation shop was not rolled back to revision 1."},
		{"--dry-run=none", cli.ExitNotFound, "cannot roll back installation shop"},
	} {
		got := w.run(history.NewRollback, "shop", test.flag, "--yes", "--as", reader)
		if got.Code != test.code || w.root().ResourceVersion != before.ResourceVersion {
			t.Errorf("%s: %+v", test.flag, got)
		}
		contains(t, got.Stderr, test.want)
	}
	for _, flag := range []string{"--dry-run=client", "--dry-run=server"} {
		got := w.run(history.NewRollback, "shop", flag)
		if got.Code != cli.ExitOK || w.root().ResourceVersion != before.ResourceVersion {
			t.Errorf("%s: %+v", flag, got)
		}
		contains(t, got.Stdout, "+++ revision 1")
	}
}

// Completion of --to and --revision offers the revisions.
func TestRevisionsAreOffered(t *testing.T) {
	w := newWorld(t)
	w.stored(w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed}))
	for flag, command := range map[string]func(cli.Environment) *cobra.Command{"--to": history.NewRollback, "--revision": history.New} {
		var out bytes.Buffer
		root := cli.NewRoot(genericiooptions.IOStreams{In: &out, Out: &out, ErrOut: io.Discard}, command(cli.NewEnvironment(genericiooptions.IOStreams{})))
		name := root.Commands()[0].Name()
		root.SetArgs([]string{cobra.ShellCompRequestCmd, name, "shop", "--kubeconfig=" + w.Kubeconfig(), "-n", w.Namespace, flag, ""})
		if code := cli.Run(t.Context(), root); code != cli.ExitOK || !strings.HasPrefix(out.String(), "2\t1.1.0 Failed\n1\t1.0.0 Succeeded\n") {
			t.Errorf("%s: exit code %d:\n%s", flag, code, out.String())
		}
	}
}

// Who else manages the installation, and what it is doing, is told before anything changes.
func TestRollbackWarns(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*lsv1alpha1.Installation)
		writer string
		args   []string
		parts  []string
	}{
		"Flux": {
			func(i *lsv1alpha1.Installation) {
				i.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"}
			}, "", nil,
			[]string{"warning: installation shop is managed by a Flux Kustomization, which will undo the rollback"},
		},
		"Argo CD": {
			func(i *lsv1alpha1.Installation) {
				i.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "apps:x"}
			}, "", nil,
			[]string{"warning: installation shop is managed by an Argo CD Application"},
		},
		"a writer": {nil, "argocd-controller", nil, []string{"warning: installation shop is managed by an Argo CD Application"}},
		"running": {
			func(i *lsv1alpha1.Installation) {
				i.Status.Phase, i.Status.JobIDFinished = lsv1alpha1.PhaseProgressing, ""
			}, "", nil,
			[]string{"note: job 22222222-0000-4000-8000-000000000000 of installation shop is running. It continues"},
		},
		"suspended": {
			func(i *lsv1alpha1.Installation) {
				i.Annotations = map[string]string{lsv1alpha1.SuspendAnnotation: "true", lsv1alpha1.SuspendReasonAnnotation: "by jo: audit"}
			}, "", nil,
			[]string{"note: installation shop is suspended by jo: audit. Nothing runs until you resume it."},
		},
		"a failed one": {
			func(i *lsv1alpha1.Installation) { i.Status.History[1].SucceededTime = nil }, "", []string{"--to", "1"},
			[]string{"warning: no job with the spec of revision 1 has succeeded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			inst := w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed})
			if test.change != nil {
				test.change(inst)
			}
			w.stored(inst)
			if test.writer != "" {
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"context":"default"}}`))
				if err := w.Client().Patch(w.Context(), w.root(), patch, client.FieldOwner(test.writer)); err != nil {
					t.Fatal(err)
				}
			}
			got := w.run(history.NewRollback, append([]string{"shop", "--yes"}, test.args...)...)
			want := "installation shop is restored to the spec of revision 1, and will run a job"
			if name == "running" {
				want += ", which starts when the running one has finished"
			}
			if got.Code != cli.ExitOK || got.Stdout != want+"\n" {
				t.Errorf("%+v", got)
			}
			contains(t, got.Stderr, append([]string{"--- present spec\n+++ revision 1\n"}, test.parts...)...)
			w.restored("1.0.0")
		})
	}
}

// asking starts a rollback that waits for its confirmation, and returns how to confirm.
func (w *world) asking() (*clitest.Running, func()) {
	w.Helper()
	answers, keyboard := io.Pipe()
	command := clitest.Start(w.T, w.APIServer, w.Namespace, clitest.Call{Args: []string{"shop"}, Command: func(env cli.Environment) *cobra.Command {
		env.In = answers
		return history.NewRollback(env)
	}})
	command.Until(w.T, "Type yes to continue: ")
	return command, func() {
		w.Helper()
		if _, err := io.WriteString(keyboard, "yes\n"); err != nil {
			w.Fatal(err)
		}
	}
}

// While the user reads what changes, controllers write and that does not matter; a change of the spec by somebody else does.
func TestRollbackMeetsOtherWriters(t *testing.T) {
	w := newWorld(t)
	w.stored(w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed}))
	command, confirm := w.asking()
	w.Patch(w.root(), `{"spec":{"context":"other"}}`)
	confirm()
	got := command.Wait(t)
	if got.Code != cli.ExitError || w.root().Spec.Context != "other" {
		t.Errorf("%+v", got)
	}
	contains(t, got.Stderr, "installation shop was changed by another client at the same time, so nothing was changed")

	command, confirm = w.asking()
	w.PatchStatus(w.root(), `{"status":{"importsHash":"another"}}`)
	confirm()
	if got := command.Wait(t); got.Code != cli.ExitOK {
		t.Errorf("%+v", got)
	}
	w.restored("1.0.0")
}

// Another operation that the controllers have not taken yet comes first.
func TestRollbackWaitsForAnotherOperation(t *testing.T) {
	w := newWorld(t)
	w.stored(w.remembering(past{"1.0.0", succeeded}, past{"1.1.0", failed}), func(i *lsv1alpha1.Installation) {
		i.Annotations = map[string]string{lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationInterrupt)}
	})
	command := clitest.Start(t, w.APIServer, w.Namespace, clitest.Call{Command: history.NewRollback, Args: []string{"shop", "--yes"}})
	command.Until(t, "Waiting for the controllers to accept operation")
	w.Patch(w.root(), `{"metadata":{"annotations":{"`+lsv1alpha1.OperationAnnotation+`":null}}}`)
	if got := command.Wait(t); got.Code != cli.ExitOK {
		t.Errorf("%+v", got)
	}
	w.restored("1.0.0")
}

// In the continuous flow the spec is enough.
func TestRollbackOfAContinuousInstallation(t *testing.T) {
	w := newWorld(t)
	inst := w.shop("green").Continuous().Build()
	w.Create(testkit.Target(w.Namespace, "cluster").Cluster(w.T, w.APIServer).Build(), inst)
	w.Manage()
	revision := func(number int64) {
		t.Helper()
		testkit.Eventually(t, w.APIServer, inst, testkit.Is("done", func(i *lsv1alpha1.Installation) bool {
			h := i.Status.History
			return len(h) > 0 && h[0].Revision == number && h[0].Result == succeeded
		}))
	}
	revision(1)
	w.give("blue")
	revision(2)
	got := w.run(history.NewRollback, "shop", "--yes", "--wait")
	if colour := w.colour(); got.Code != cli.ExitOK || got.Stdout != "installation shop has succeeded\n" || colour != "green" {
		t.Errorf("the ConfigMap is %s: %+v", colour, got)
	}
	contains(t, got.Stderr, "is restored to the spec of revision 1, and updates itself")
	revision(3)
}

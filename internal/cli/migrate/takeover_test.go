// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/definitions"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/share"
)

// checkTakenOver checks that nothing of Landscaper works any more, and that nothing of anybody else was touched.
func (e *estate) checkTakenOver(before map[string]string) {
	e.Helper()
	after := e.everything()
	for _, name := range []string{"landscaper", "landscaper-webhooks", "helm-deployer"} {
		if count := e.replicas(name); count != 0 {
			e.Errorf("Deployment %s has %d replicas", name, count)
		}
	}
	if _, found := after["ValidatingWebhookConfiguration /"+webhookName]; found {
		e.Error("the webhook of Landscaper is still there")
	}
	for _, title := range []string{
		"ValidatingWebhookConfiguration /policy", "Deployment " + oldSystem + "/stranger",
	} {
		if diff := cmp.Diff(before[title], after[title]); diff != "" || after[title] == "" {
			e.Errorf("%s was touched:\n%s", title, diff)
		}
	}
	for title, text := range after {
		ours := strings.Contains(text, definitions.VersionAnnotation)
		if name, isDefinition := strings.CutPrefix(title, "CustomResourceDefinition /"); isDefinition && ours == strings.HasSuffix(name, ".weave.works") {
			e.Errorf("%s is of Espalier: %t", title, ours)
		}
	}
}

// checkAsBefore checks that everything is as it was, byte for byte, except for definitions that have been added.
func (e *estate) checkAsBefore(before map[string]string) {
	e.Helper()
	after := e.everything()
	maps.DeleteFunc(after, func(title, _ string) bool { return strings.HasSuffix(title, ".espalier.dev") })
	if diff := cmp.Diff(before, after); diff != "" {
		e.Errorf("it is not as it was before:\n%s", diff)
	}
	if e.record() != nil {
		e.Error("the record is still there")
	}
}

// addNoise fills the first pages of lists with Deployments that have nothing to do with it.
func (e *estate) addNoise() {
	e.Helper()
	for i := range pageSize + 1 {
		noise := deployment(fmt.Sprintf("a-noise-%03d", i), 0, "example.com/noise:v1")
		noise.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "noise"}
		e.Create(noise)
	}
}

// There and back again: no object of users is written, all is restored.
func TestTakingOverAndGoingBack(t *testing.T) {
	e := landscaped(t)
	finished := testkit.Installation(e.Namespace, "shop").Build()
	finished.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	clitest.Store(t, e.APIServer, finished)
	e.addNoise()
	before, objects := e.everything(), e.objects()

	if result := e.succeeds("--dry-run"); !strings.Contains(result.Stdout, "Errors: 0, warnings: 1, notes: 0") || e.record() != nil {
		t.Errorf("the check says:\n%s", result.Stdout)
	}
	e.checkAsBefore(before)

	result, report := e.report("--yes")
	if result.Code != 0 || !strings.Contains(strings.Join(report.Next, "\n"), "helm install espalier") {
		t.Fatalf("the take-over ended with %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	if !strings.Contains(result.Stderr, "[3/7] Stop the controllers of Landscaper") ||
		!strings.Contains(result.Stderr, "Deployment landscaper-system/landscaper-webhooks: scaled from 2 to 0") {
		t.Errorf("the steps are not told:\n%s", result.Stderr)
	}
	e.checkTakenOver(before)
	recorded := e.record().Data

	again := e.succeeds("--yes")
	if strings.Contains(again.Stdout, "scaled from") || strings.Contains(again.Stdout, ": replaced") {
		t.Errorf("something was done a second time:\n%s", again.Stdout)
	}
	if diff := cmp.Diff(recorded, e.record().Data); diff != "" {
		t.Errorf("the record has changed:\n%s", diff)
	}

	e.Create(deployment("espalier-controller", 1, "espalier.dev/espalier-controller:v1"))
	if result := e.migrate("--back", "--yes"); result.Code != cli.ExitNeedsSomebody || !strings.Contains(result.Stdout, codeEspalierRuns) {
		t.Errorf("while Espalier runs, going back ends with %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	e.checkTakenOver(before)
	e.Delete(deployment("espalier-controller", 0, ""))
	if result := e.succeeds("--back", "--yes"); !strings.Contains(result.Stdout, "Not undone:") ||
		!strings.Contains(result.Stdout, "referencegrants.espalier.dev") {
		t.Errorf("what is not undone is not told:\n%s", result.Stdout)
	}
	e.checkAsBefore(before)
	if diff := cmp.Diff(objects, e.objects()); diff != "" {
		t.Errorf("objects of users were written:\n%s", diff)
	}
	if result := e.migrate("--back", "--yes"); result.Code != cli.ExitNotFound || !strings.Contains(result.Stderr, "no record") {
		t.Errorf("going back twice ends with %d:\n%s", result.Code, result.Stderr)
	}
}

// over runs the command over a connection that fails as planned.
func (e *estate) over(transport *faults.Transport, s *system, back bool) error {
	e.Helper()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	env := cli.NewEnvironment(streams)
	cmd := &cobra.Command{}
	opts := options{
		env: env, system: s, home: home, back: back, yes: true, timeout: time.Minute,
		access: connect.AddFlags(cmd, env), format: display.AddFormatFlag(cmd, display.FormatText),
	}
	if err := cmd.ParseFlags([]string{"--kubeconfig=" + e.Kubeconfig()}); err != nil {
		e.Fatal(err)
	}
	return migrate(e.Context(), transport.Config(e.Config()), opts)
}

// crashPoints are the writes after which a process is killed: the first of each sort, so that others of that sort are left to be done.
func crashPoints(writes faults.Log) []int {
	var points []int
	seen := map[string]bool{}
	for _, entry := range writes {
		if sort := entry.Verb + " " + entry.Resource; !seen[sort] {
			seen[sort] = true
			points = append(points, entry.Write)
		}
	}
	return points
}

// A process that dies at any moment is followed by one that brings it to the end, and the way back leads to where it began.
func TestAKillAfterEachWriteIsMended(t *testing.T) {
	e := landscaped(t)
	before := e.everything()
	through := func(back bool) faults.Log {
		transport := faults.New(faults.Plan{})
		if err := e.over(transport, landscaper(), back); err != nil {
			t.Fatalf("back %t: %v", back, err)
		}
		return transport.Log()
	}
	killed := func(back bool, point int) {
		transport := faults.New(faults.At(point, faults.CrashAfter))
		err := e.over(transport, landscaper(), back)
		if err == nil || !transport.IsCrashed() || !strings.Contains(err.Error(), "run the command again") {
			t.Fatalf("back %t, killed after write %d: %v", back, point, err)
		}
	}
	through(false)
	through(true) // What exists from now on, such as the namespace, is not created again.
	there, back := through(false).Writes(), through(true).Writes()
	thither, hither := crashPoints(there), crashPoints(back)
	if len(thither) != 5 || len(hither) != 4 {
		t.Fatalf("the writes are:\n%s\n%s", there, back)
	}
	cases := share.Of()
	for i := range max(len(thither), len(hither)) {
		if !cases.Try() {
			continue
		}
		first, second := thither[i%len(thither)], hither[i%len(hither)]
		killed(false, first)
		through(false)
		e.checkTakenOver(before)
		killed(true, second)
		if e.record() != nil { // Otherwise the last step was done.
			through(true)
		}
		e.checkAsBefore(before)
		if t.Failed() {
			t.Fatalf("after kills at %s and %s", there[first-1], back[second-1])
		}
	}
}

// While Landscaper runs, its jobs are awaited. Who does not want to wait any more is told what is running.
func TestJobsAreAwaited(t *testing.T) {
	e := landscaped(t)
	busy := testkit.Installation(e.Namespace, "busy").Build()
	busy.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(t, e.APIServer, busy)
	before := e.everything()
	result := e.migrate("--yes", "--timeout", "1s")
	if result.Code != cli.ExitTimeout || !strings.Contains(result.Stderr, "timed out after 1s waiting for Installation <namespace>/busy") {
		t.Errorf("after its time the command ends with %d:\n%s", result.Code, result.Stderr)
	}
	const runs = "busy has a running job, in phase Progressing"
	running := clitest.Start(t, e.APIServer, e.Namespace, e.call("--yes"))
	running.Until(t, runs)
	running.Interrupt()
	result = running.Wait(t)
	if result.Code != cli.ExitDetached || !strings.Contains(result.Stderr, `interrupted at the step "Wait until running jobs have finished"`) {
		t.Errorf("interrupted, it ends with %d:\n%s", result.Code, result.Stderr)
	}
	e.checkAsBefore(before)

	running = clitest.Start(t, e.APIServer, e.Namespace, e.call("--yes", "-o", "json"))
	running.Until(t, runs)
	clitest.Controller{Server: e.APIServer}.Settle(t, busy, lsv1alpha1.PhaseSucceeded, "", "")
	if result := running.Wait(t); result.Code != 0 || strings.Contains(result.Stdout, codeJobRunning) {
		t.Errorf("it ends with %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	e.checkTakenOver(before)
}

// As long as a pod of the other controllers runs, they may still write. Jobs are not awaited once they are stopped.
func TestStoppedControllers(t *testing.T) {
	e := landscaped(t)
	e.stopAll()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: oldSystem, Name: "landscaper-1", Labels: map[string]string{"app": "landscaper"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "landscaper-controller"}}},
	}
	e.Create(pod)
	before := e.everything()
	result := e.migrate("--yes", "--timeout", "1s")
	if result.Code != cli.ExitTimeout || !strings.Contains(result.Stderr, "waiting for the pods of Deployment "+oldSystem+"/") {
		t.Errorf("it ends with %d:\n%s", result.Code, result.Stderr)
	}
	if diff := cmp.Diff(before, e.everything()); diff != "" {
		t.Errorf("something was changed while a pod runs:\n%s", diff)
	}
	if err := e.Client().Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	e.succeeds("--yes")
	e.checkTakenOver(before)

	// Without anybody who could end a job nobody waits for it, unless Espalier is to do it.
	e.succeeds("--back", "--yes")
	asked := testkit.Installation(e.Namespace, "asked").Reconcile().Build()
	clitest.Store(t, e.APIServer, asked)
	if result := e.migrate("--yes"); result.Code != cli.ExitNeedsSomebody || !strings.Contains(result.Stderr, "--ignore "+codeJobRequested) {
		t.Errorf("it ends with %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	e.checkAsBefore(before)
	e.succeeds("--yes", "--ignore", codeJobRequested)
	e.checkTakenOver(before)
	if !e.Read(asked) || asked.Annotations[lsv1alpha1.OperationAnnotation] == "" {
		t.Error("the request is gone")
	}
}

// stopAll stops Landscaper as somebody would do it by hand.
func (e *estate) stopAll() {
	e.Helper()
	for _, name := range []string{"landscaper", "landscaper-webhooks", "helm-deployer"} {
		e.Patch(deployment(name, 0, ""), `{"spec":{"replicas":0}}`)
	}
}

// What the user gets wrong is said, and nothing is changed.
func TestMistakesOfUsers(t *testing.T) {
	e := landscaped(t)
	before := e.everything()
	for name, test := range map[string]struct {
		args  []string
		stdin string
		code  int
		want  string
	}{
		"an unknown code":     {[]string{"--ignore", "job-runing"}, "", cli.ExitError, `unknown code "job-runing"; the codes are controllers-elsewhere`},
		"an unknown format":   {[]string{"-o", "xml"}, "", cli.ExitError, `unknown output format "xml"`},
		"no time":             {[]string{"--timeout", "0s"}, "", cli.ExitError, "above zero"},
		"an argument":         {[]string{"now"}, "", cli.ExitError, "now"},
		"no answer":           {nil, "", cli.ExitError, "not confirmed, so nothing was changed"},
		"another answer":      {nil, "y\n", cli.ExitError, "not confirmed"},
		"nothing to go back":  {[]string{"--back"}, "yes\n", cli.ExitNotFound, "no record"},
		"somebody else":       {[]string{"--as=somebody", "--yes"}, "", cli.ExitNotFound, "patch deployments.apps"},
		"somebody who checks": {[]string{"--as=somebody", "--dry-run"}, "", cli.ExitNotFound, "list installations.landscaper.gardener.cloud"},
	} {
		t.Run(name, func(t *testing.T) {
			call := e.call(test.args...)
			call.Stdin = test.stdin
			result := clitest.Run(t, e.APIServer, e.Namespace, call)
			if result.Code != test.code || !strings.Contains(result.Stderr, test.want) {
				t.Errorf("it ends with %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
			}
		})
	}
	unknown := clitest.RunAlone(t, clitest.Call{Command: New, Args: []string{"landscape"}})
	if unknown.Code != cli.ExitError || !strings.Contains(unknown.Stderr, "landscape") {
		t.Errorf("an unknown system ends with %d: %s", unknown.Code, unknown.Stderr)
	}
	e.checkAsBefore(before)
	call := e.call()
	call.Stdin = "yes\n"
	if result := clitest.Run(t, e.APIServer, e.Namespace, call); result.Code != 0 {
		t.Errorf("confirmed, it ends with %d: %s", result.Code, result.Stderr)
	}
	e.checkTakenOver(before)

	e.checkRecordIsNotTrusted()
	e.checkTakenOver(before)
}

// checkRecordIsNotTrusted changes the record in ways that would bring something else into the cluster.
func (e *estate) checkRecordIsNotTrusted() {
	e.Helper()
	sound := e.record().Data
	foreign := webhooks("policy-2", "secrets.example.com")
	foreign.Webhooks[0].Rules[0].APIGroups = []string{""}
	for key, text := range map[string]string{
		stateKey: "{",
		definitionPrefix + "targets.landscaper.gardener.cloud" + keySuffix: `{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com"}}`,
		definitionPrefix + "gadgets.example.com" + keySuffix:               `{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com"}}`,
		webhookPrefix + validating + ".policy-2" + keySuffix:               e.json(foreign),
	} {
		change(e, e.record(), func(c *corev1.ConfigMap) {
			c.Data = maps.Clone(sound)
			c.Data[key] = text
		})
		if result := e.migrate("--back", "--yes"); result.Code != cli.ExitError || !strings.Contains(result.Stderr, "is damaged: key "+key) {
			e.Errorf("with another %s it ends with %d: %s", key, result.Code, result.Stderr)
		}
		if e.Read(foreign.DeepCopy()) || e.record() == nil {
			e.Errorf("%s was believed", key)
		}
	}
	change(e, e.record(), func(c *corev1.ConfigMap) { c.Data = sound })
}

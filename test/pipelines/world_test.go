// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gitops "espalier.dev/api/gitops/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/traffic"
)

// pollInterval is the shortest that the manager accepts.
const pollInterval = time.Second

// world is a namespace of the management cluster with a manager that runs the pipelines in it.
type world struct {
	*managed.World
	// approvals is the address at which the manager accepts HTTP calls.
	approvals string
	// traffic records the manager's requests to the management cluster.
	traffic *traffic.Traffic
}

// newWorld runs a manager until the test ends.
func newWorld(t *testing.T, change ...func(*manager.Options)) *world {
	t.Helper()
	w := &world{traffic: traffic.New(), World: managed.NewWorld(t, managed.Controllers("pipelines"), func(o *manager.Options) {
		o.Pipelines.ApprovalAddress = testkit.FreeAddress(t)
		o.Pipelines.PollInterval = pollInterval
	})}
	for _, f := range change {
		f(&w.Options)
	}
	w.approvals = "http://" + w.Options.Pipelines.ApprovalAddress
	connection := w.Config()
	connection.Wrap(w.traffic.Wrap)
	w.ManageOver(connection)
	return w
}

// writes counts the manager's writes to pipelines.
func (w *world) writes() int {
	number := 0
	for _, request := range w.traffic.Requests() {
		if !strings.HasPrefix(request, http.MethodGet+" ") && strings.Contains(request, "/pipelines/") {
			number++
		}
	}
	return number
}

// enrol registers a cluster for pipelines under a name.
func (w *world) enrol(name string, cluster *testkit.APIServer) {
	w.Helper()
	kubeconfig, err := os.ReadFile(cluster.Kubeconfig())
	if err != nil {
		w.Fatal(err)
	}
	object := &gitops.GitopsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec:       gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: name}},
	}
	w.Create(w.secret(name, map[string]string{"kubeconfig": string(kubeconfig)}), object)
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Enrolled"})
	if err := w.Client().Status().Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, StringData: data}
}

// until waits until a pipeline meets a condition.
func (w *world) until(name, what string, holds func(*pipelines.Pipeline) bool) *pipelines.Pipeline {
	w.Helper()
	return testkit.Eventually(w.T, w.APIServer, w.pipeline(name), testkit.Is(what, holds))
}

func (w *world) pipeline(name string) *pipelines.Pipeline {
	return &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
}

// untilState waits until the promotion of a revision to an environment has reached a state.
func (w *world) untilState(name, environment, revision string, state pipelines.PromotionState) *pipelines.PromotionStatus {
	w.Helper()
	p := w.until(name, "promotion of "+revision+" to "+environment+": "+string(state), func(p *pipelines.Pipeline) bool {
		promotion := p.Status.Environments[environment].Promotion
		return promotion != nil && promotion.Revision == revision && promotion.State == state
	})
	return p.Status.Environments[environment].Promotion
}

// untilComplete waits until a revision has reached all environments.
func (w *world) untilComplete(name, revision string) *pipelines.Pipeline {
	w.Helper()
	return w.until(name, "complete at "+revision, func(p *pipelines.Pipeline) bool {
		return p.Status.Run != nil && p.Status.Run.Revision == revision && p.Status.Run.CompletionTime != nil
	})
}

// holdIn returns why a pipeline waits in an environment; empty if it does not.
func holdIn(p *pipelines.Pipeline, environment string, reason pipelines.HoldReason) string {
	i := slices.IndexFunc(p.Status.Holds, func(h pipelines.Hold) bool { return h.Environment == environment && h.Reason == reason })
	if i < 0 {
		return ""
	}
	return p.Status.Holds[i].Message
}

// ask sets a request on a pipeline, as kubectl annotate does.
func (w *world) ask(name string, request map[string]string) {
	w.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		w.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{"request.pipelines.espalier.dev/" + request["id"]: string(text)},
	}})
	if err != nil {
		w.Fatal(err)
	}
	w.Patch(w.pipeline(name), string(patch))
}

// record records pipelines and their Events.
func (w *world) record() *testkit.Recorder {
	w.Helper()
	return testkit.Record(w.T, w.APIServer, w.Namespace, testkit.Kinds(&pipelines.Pipeline{}, &corev1.Event{}))
}

// told returns the Events of a pipeline, sorted, since those of one pass are written at the same time, each as its reason and the start of
// its message. A repeated Event occurs again.
func told(recorder *testkit.Recorder, name string) []string {
	var lines []string
	for _, revision := range recorder.History() {
		if revision.Object.GetKind() != "Event" || revision.Field("involvedObject.name") != name || revision.Change == testkit.Deleted {
			continue
		}
		what, _, _ := strings.Cut(revision.Field("message"), ":")
		lines = append(lines, revision.Field("reason")+": "+what)
	}
	slices.Sort(lines)
	return lines
}

// expectEvents compares the messages of the Events of a pipeline's promotions.
func (w *world) expectEvents(name string, want ...string) {
	w.Helper()
	var list corev1.EventList
	if err := w.Client().List(w.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.Fatal(err)
	}
	var got []string
	for _, event := range list.Items {
		if event.InvolvedObject.Name == name && event.Reason == "Promote" {
			got = append(got, event.Message)
		}
	}
	if !slices.Equal(got, want) {
		w.Errorf("the Events are %q, want %q", got, want)
	}
}

// expectRest changes things that pipelines do not depend on, and fails if one of them is nevertheless written.
func (w *world) expectRest(recorder *testkit.Recorder, stir func()) {
	w.Helper()
	recorder.Quiet(w.T, pollInterval)
	before, written := recorder.History(), w.writes()
	if written == 0 {
		w.Error("no write has been counted: the counter does not work")
	}
	stir()
	// The recorder counts from the newest write, so there must be one now.
	end := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "end-of-the-stir"}}
	end.InvolvedObject.Namespace = w.Namespace
	w.Create(end)
	recorder.Quiet(w.T, 3*pollInterval)
	since := recorder.Since(before).Where(func(r testkit.Revision) bool { return r.Object.GetName() != end.Name })
	if number := w.writes() - written; number > 0 || len(since) > 0 {
		w.Errorf("%d requests changed pipelines that had nothing to say:\n%s", number, since)
	}
}

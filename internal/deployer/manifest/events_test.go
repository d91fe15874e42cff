// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/relay"
)

// warned waits for a Warning about an item, and returns its note.
func warned(t *testing.T, server *testkit.APIServer, item *landscaper.DeployItem, reason string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	events, err := server.Client().Watch(ctx, &eventsv1.EventList{}, client.InNamespace(item.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if event, ok := e.Object.(*eventsv1.Event); ok && event.Regarding.UID == item.UID && event.Reason == reason &&
			event.Type == corev1.EventTypeWarning {
			return event.Note
		}
	}
	t.Fatalf("nobody was warned of %s", reason)
	return ""
}

func configMapOf(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shared"},
	}
}

func TestPeopleAreWarnedOfAnObjectThatIsTakenOver(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	process(t, server, namespace, faults.New(faults.Plan{}))
	foreign := configMapOf(namespace)
	foreign.Annotations = map[string]string{inventory.OwnerAnnotation: "elsewhere/other"}
	item := testkit.DeployItem(namespace, "web").Target(ownTarget).Manifests(configMapOf(namespace)).Build()
	testkit.Create(t, server, foreign, testkit.Target(namespace, ownTarget).Cluster(t, server).Build(), item)
	begin(t, server, item, "first")
	testkit.EventuallyFinished(t, server, item, landscaper.PhaseSucceeded)
	if note := warned(t, server, item, "TakenOver"); !strings.Contains(
		note,
		"ConfigMap "+namespace+"/shared was managed by deploy item elsewhere/other",
	) {
		t.Errorf("it says %q", note)
	}
}

// While a cluster does not answer, its users are warned, and the status names the next attempt. That one is made as soon as its time has
// come, so that the item continues by itself once the cluster is back.
func TestJOB30_AnItemContinuesWhenItsClusterAnswersAgain(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	process(t, server, namespace, faults.New(faults.Plan{}))
	way := relay.New(t, server.Config().Host)
	way.Close()
	kubeconfig, err := os.ReadFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	away := strings.ReplaceAll(string(kubeconfig), server.Config().Host, way.Through(t, server.Config().Host))
	item := testkit.DeployItem(namespace, "web").Target("away").Manifests(configMapOf(namespace)).Timeout(landscaper.NoDuration).Build()
	recorder := testkit.Record(t, server, namespace, testkit.Kinds(&landscaper.DeployItem{}))
	testkit.Create(t, server, testkit.Target(namespace, "away").Kubeconfig(away).Build(), item)
	begin(t, server, item, "first")
	note := warned(t, server, item, "TargetUnreachable")
	if !strings.Contains(note, way.Address()) || !nextAttempt.MatchString(note) {
		t.Errorf("it says %q", note)
	}
	testkit.Eventually(t, server, item, testkit.Is("tried again", func(i *landscaper.DeployItem) bool {
		return i.Status.LastError != nil && !strings.Contains(i.Status.LastError.Message, nextAttempt.FindString(note))
	}))
	way.Open(t)
	done := testkit.EventuallyFinished(t, server, item, landscaper.PhaseSucceeded)
	var last time.Time
	for _, r := range recorder.History() {
		named := nextAttempt.FindStringSubmatch(r.Field("status.lastError.message"))
		if named == nil {
			continue
		}
		if last, err = time.Parse(time.RFC3339, named[1]); err != nil {
			t.Fatal(err)
		}
		if written, err := time.Parse(time.RFC3339, r.Field("status.lastError.lastUpdateTime")); err != nil || last.Before(written) {
			t.Errorf("at %s (%v) it names an attempt in the past: %s", written, err, named[0])
		}
	}
	if finished := done.Status.TransitionTimes.FinishedTime; last.IsZero() || finished.Time.Before(last) {
		t.Errorf("it was finished at %s, before the attempt that it had named last, at %s", finished, last)
	}
}

var nextAttempt = regexp.MustCompile(`next attempt at ([^ :]*:[^ :]*:[^ :]*)`)

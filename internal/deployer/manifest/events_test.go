// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"context"
	"fmt"
	"net"
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
)

// warned waits for a Warning about an item, and returns its note.
func warned(t *testing.T, server *testkit.APIServer, item *landscaper.DeployItem, reason string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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

func TestPeopleAreWarnedOfAClusterThatDoesNotAnswer(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	process(t, server, namespace, faults.New(faults.Plan{}))
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	kubeconfig := fmt.Sprintf(
		`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://%s"}}], "users": [{"name": "u", "user": {"token": "t"}}]}`,
		address,
	)
	item := testkit.DeployItem(namespace, "web").Target("away").Manifests(configMapOf(namespace)).Timeout(landscaper.NoDuration).Build()
	testkit.Create(t, server, testkit.Target(namespace, "away").Kubeconfig(kubeconfig).Build(), item)
	begin(t, server, item, "first")
	if note := warned(t, server, item, "TargetUnreachable"); !strings.Contains(note, address) || !strings.Contains(note, "next attempt at") {
		t.Errorf("it says %q", note)
	}
}

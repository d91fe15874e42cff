// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
)

// holds waits until a deployed config map has a value.
func (s *scene) holds(t testing.TB, configMap, value string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: configMap}}
	testkit.Eventually(t, s.APIServer, object, func(c *corev1.ConfigMap) error {
		if c.Data["value"] != value {
			return fmt.Errorf("its value is %q, want %q", c.Data["value"], value)
		}
		return nil
	})
}

// lacks checks that a config map is no longer deployed.
func (s *scene) lacks(t testing.TB, configMap string) {
	t.Helper()
	err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: configMap}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("config map %s: %v, want it gone", configMap, err)
	}
}

// until waits until the deploy item of that name meets a condition. The execution chooses the name of the object.
func (s *scene) until(t testing.TB, item, what string, holds func(*lsv1alpha1.DeployItem) bool) *lsv1alpha1.DeployItem {
	t.Helper()
	return testkit.Eventually(t, s.APIServer, &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace,
		Name:      s.itemNamed(t, item),
	}},
		testkit.Is(what, holds))
}

// itemNamed waits for a deploy item to be created and returns its name.
func (s *scene) itemNamed(t testing.TB, item string) string {
	t.Helper()
	name, err := s.findItem(t, item)
	if err != nil {
		t.Fatalf("wait for the deploy item %s: %v", item, err)
	}
	return name
}

func (s *scene) findItem(t testing.TB, item string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	watcher, err := s.Client().Watch(ctx, &lsv1alpha1.DeployItemList{}, client.InNamespace(s.namespace),
		client.MatchingLabels{lsv1alpha1.ExecutionManagedNameLabel: item})
	if err != nil {
		return "", err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if found, ok := event.Object.(*lsv1alpha1.DeployItem); ok {
			return found.Name, nil
		}
	}
	return "", errors.New("it does not come")
}

// finishItem does what a deployer does when it has finished.
func (s *scene) finishItem(t testing.TB, item string) {
	t.Helper()
	object := s.until(t, item, "at work", func(i *lsv1alpha1.DeployItem) bool { return !i.Status.IsFinished() })
	patch := fmt.Appendf(nil, `{"status":{"phase":%q,"jobIDFinished":%q}}`, lsv1alpha1.PhaseSucceeded, object.Status.JobID)
	if err := s.Client().Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatalf("finish deploy item %s: %v", item, err)
	}
}

// letGo does what a deployer does when it has uninstalled everything.
func (s *scene) letGo(t testing.TB, item string) {
	t.Helper()
	object := s.until(
		t,
		item,
		"to be deleted",
		func(i *lsv1alpha1.DeployItem) bool { return !i.DeletionTimestamp.IsZero() && !i.Status.IsFinished() },
	)
	s.patch(t, object, `{"metadata":{"finalizers":null}}`)
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("an object of the test cannot be written: %v", err))
	}
	return text
}

// leads waits until somebody holds the lease.
func leads(t testing.TB, s *scene) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: manager.LeaseName}}
	testkit.Eventually(t, s.APIServer, lease, testkit.Is("held", func(l *coordinationv1.Lease) bool {
		return l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != ""
	}))
}

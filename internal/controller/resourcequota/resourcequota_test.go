// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package resourcequota_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/resourcequota"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// The server has no controller that counts objects for a ResourceQuota, so the test sets the count.
func TestARefusalByAResourceQuotaIsAWait(t *testing.T) {
	server := testkit.Server(t)
	namespace, cluster := server.Namespace(t), server.Client()
	const counted = corev1.ResourceName("count/dataobjects.landscaper.gardener.cloud")
	hard := corev1.ResourceList{counted: resource.MustParse("1")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"}}
	quota.Spec.Hard = hard
	if err := cluster.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: hard}
	if err := cluster.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	err := cluster.Create(t.Context(), testkit.DataObject(namespace, "more", 1).Build())
	if !apierrors.IsForbidden(err) {
		t.Fatalf("the API server answers %v", err)
	}
	wait, ok := failure.AsWait(resourcequota.Refused(fmt.Errorf("create: %w", err)))
	if !ok || wait.Reason != lsv1alpha1.ReasonWaitingForQuota {
		t.Fatalf("%v became %v", err, resourcequota.Refused(err))
	}
	for _, word := range []string{"ResourceQuota few", "limit " + string(counted) + "=1", "ask a cluster administrator"} {
		if !strings.Contains(wait.Error(), word) {
			t.Errorf("%q does not say %q", wait, word)
		}
	}
}

// Webhooks may reject with any words, which may quote a value.
func TestOtherRefusalsStayWhatTheyAre(t *testing.T) {
	targets := lsv1alpha1.SchemeGroupVersion.WithResource("targets").GroupResource()
	for _, err := range []error{
		nil,
		errors.New("exceeded quota: a, requested: b=1, used: b=1, limited: b=1"),
		apierrors.NewForbidden(targets, "x", errors.New("no")),
		apierrors.NewForbidden(targets, "x", errors.New("exceeded quota: a, requested: b=1, used: b=1, limited: my password is hunter2")),
	} {
		if got := resourcequota.Refused(err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package ending_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// The server has no controller that empties namespaces, so a deleted one stays.
func TestJOB46_ANamespaceThatIsDeletedIsRecognised(t *testing.T) {
	server := testkit.Server(t)
	name, cluster := server.Namespace(t), server.Client()
	namespaces := ending.Namespaces{Cache: cluster, Live: cluster}
	create := func(object string) error {
		return cluster.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: object}})
	}
	check := func(namespace string, want bool) {
		t.Helper()
		if ends, err := namespaces.Ends(t.Context(), namespace); err != nil || ends != want {
			t.Errorf("namespace %s ends: %t, %v", namespace, ends, err)
		}
	}
	check(name, false)
	check("nowhere", false)
	if err := ending.Refused(create("before")); err != nil {
		t.Error(err)
	}
	if err := cluster.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	check(name, true)
	err := create("after")
	if err == nil {
		t.Fatal("something can be created in a namespace that is being deleted")
	}
	if wait := ending.Refused(fmt.Errorf("create: %w", err)); failure.KindOf(wait) != failure.Waiting ||
		!strings.Contains(wait.Error(), "the namespace to be deleted") {
		t.Errorf("%v became %v", err, wait)
	}
}

func TestOtherRefusalsStayWhatTheyAre(t *testing.T) {
	for _, err := range []error{nil, errors.New("no"), apierrors.NewForbidden(lsv1alpha1.SchemeGroupVersion.WithResource("targets").GroupResource(), "x", errors.New("no"))} {
		if got := ending.Refused(err); !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// Ends does not trust a cache that still shows a deleted namespace of the same name.
func TestTheAPIServerHasTheLastWord(t *testing.T) {
	server := testkit.Server(t)
	old, young := server.Namespace(t), server.Namespace(t)
	if err := server.Client().Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: old}}); err != nil {
		t.Fatal(err)
	}
	stale := redirected{server.Client(), old}
	if ends, err := (ending.Namespaces{Cache: stale, Live: server.Client()}).Ends(t.Context(), young); err != nil || ends {
		t.Errorf("it ends: %t, %v", ends, err)
	}
}

// redirected reads a different namespace from the one requested.
type redirected struct {
	client.Reader
	name string
}

func (r redirected) Get(ctx context.Context, _ client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return r.Reader.Get(ctx, client.ObjectKey{Name: r.name}, object, options...)
}

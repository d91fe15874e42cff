// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs_test

import (
	"testing"

	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

// The life of a TargetSync with a token that is replaced twice, from its creation to the end of its deletion, comes to the same whatever
// write a process dies at, and whatever answer gets lost.
func TestACrashAtEveryWrite(t *testing.T) {
	reference := live(t, faults.Plan{})
	faults.Sweep(t, faults.EachNamedWrite(reference, faults.CrashAfter, faults.LoseAnswer), func(t *testing.T, plan faults.Plan) {
		live(t, plan)
	})
}

func live(t *testing.T, plan faults.Plan) faults.Log {
	t.Helper()
	w := newWorld(t)
	w.account()
	w.offer("a", "b")
	transport := faults.New(plan)
	start := func(config *rest.Config) *testkit.Process {
		mgr := managed.Manager(t, config, w.Options)
		p := testkit.Start(t.Context(), mgr.Start)
		t.Cleanup(func() { _ = p.Stop() })
		return p
	}
	first := start(transport.Config(w.Config()))
	defer transport.AfterCrash(func() {
		_ = first.Stop()
		start(w.Config())
	})()

	ts := w.targetSync("sync", "*")
	ts.Spec.TokenRotation = &lsv1alpha1.TokenRotation{Enabled: true}
	ts.Spec.CreateTargetToSource, ts.Spec.TargetToSourceName = true, "garden"
	ts.Annotations = map[string]string{lsv1alpha1.OperationAnnotation: "reconcile"}
	w.Create(ts)
	ts = w.synchronised(ts)
	w.have("a b garden", "a access b")
	w.rotate(ts)
	// A request whose token was not written down is repeated; one that was is not.
	if got := w.tokens(); got < 2 || got > 3 {
		t.Errorf("%d tokens were requested", got)
	}
	w.withdraw("b")
	w.Patch(secret(w.source, "a", ""), `{"stringData":{"kubeconfig":"another"}}`)
	w.awaitPair("a", "another")
	w.unfollow(ts)
	return transport.Log()
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsyncs_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/targetsync"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/managed"
)

// The life of a TargetSync whose token is replaced twice, from its creation to the end of its deletion, has the same result whatever write
// a process dies at, and whatever answer gets lost.
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
	// A request whose token was not recorded is repeated; one whose token was recorded is not.
	if got := w.tokens(); got < 2 || got > 3 {
		t.Errorf("%d tokens were requested", got)
	}
	w.withdraw("b")
	w.Patch(secret(w.source, "a", ""), `{"stringData":{"kubeconfig":"another"}}`)
	w.awaitPair("a", "another")
	w.unfollow(ts)
	return transport.Log()
}

// Of two processes that both want to answer a request for another token, the later one notices it.
func TestARequestIsAnsweredWithOneToken(t *testing.T) {
	w := newWorld(t)
	w.account()
	transport := faults.New(faults.Plan{})
	w.ManageOver(transport.Config(w.Config()))
	ts := w.targetSync("sync", "")
	ts.Spec.TokenRotation = &lsv1alpha1.TokenRotation{Enabled: true}
	w.Create(ts)
	ts = w.synchronised(ts)
	// When the request is noted, what was read of the source is already outdated.
	transport.Before(len(transport.Log().Writes())+1, func() {
		at := targetsync.TimeText(time.Now().Add(time.Minute))
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, targetsync.RotatedAnnotation, at)
		if err := w.Client().Patch(t.Context(), secret(w.Namespace, "access", ""), client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Errorf("be the other process: %v", err)
		}
	})
	w.rotate(ts)
	if got := w.tokens(); got != 1 {
		t.Errorf("%d tokens were requested, want the first one only", got)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"espalier.dev/internal/decision"
)

// podKind knows where a Pod has its status; filtering events needs nothing else of a kind.
type podKind struct{}

func (podKind) Status(p *corev1.Pod) any     { return &p.Status }
func (podKind) Phase(p *corev1.Pod) podPhase { return podPhase(p.Status.Phase) }
func (podKind) Observe(context.Context, *corev1.Pod, time.Time) (struct{}, error) {
	return struct{}{}, nil
}
func (podKind) Decide(struct{}) decision.Of[podPhase, struct{}] {
	return decision.Of[podPhase, struct{}]{Wait: true}
}
func (podKind) Act(_ context.Context, _ *corev1.Pod, o struct{}, _ struct{}) (struct{}, error) {
	return o, nil
}
func (podKind) Settle(_ *corev1.Pod, o struct{}, _ decision.Of[podPhase, struct{}], _ error) struct{} {
	return o
}

type podPhase string

type podLoop = Loop[*corev1.Pod, struct{}, podPhase, struct{}]

func podAt(version, phase string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "uid", ResourceVersion: version},
		Status:     corev1.PodStatus{Phase: corev1.PodPhase(phase)},
	}
}

func TestAwake(t *testing.T) {
	mine := podAt("2", "Running")
	for name, c := range map[string]struct {
		old, new *corev1.Pod
		awake    bool
	}{
		"my own status write":               {podAt("1", "Pending"), mine, false},
		"somebody else's status write":      {mine, podAt("3", "Failed"), true},
		"my status with a new annotation":   {podAt("1", "Pending"), annotated(podAt("3", "Running")), true},
		"my status with a new generation":   {podAt("1", "Pending"), generation(podAt("3", "Running"), 2), true},
		"my status, now being deleted":      {podAt("1", "Pending"), deleted(podAt("3", "Running")), true},
		"my status without the finalizer":   {finalized(podAt("1", "Pending")), podAt("3", "Running"), true},
		"a resync of what I wrote":          {mine, mine, false},
		"another object of the same name":   {podAt("1", "Pending"), otherUID(podAt("3", "Running")), true},
		"my status under another ownership": {podAt("1", "Pending"), owned(podAt("3", "Running")), true},
	} {
		t.Run(name, func(t *testing.T) {
			l := &podLoop{Kind: podKind{}}
			l.statuses.writing(client.ObjectKeyFromObject(mine), mustJSON(&mine.Status))
			if got := l.Awake().Update(event.UpdateEvent{ObjectOld: c.old, ObjectNew: c.new}); got != c.awake {
				t.Errorf("awake = %v, want %v", got, c.awake)
			}
		})
	}
}

func TestNothingIsRememberedOfDeletedObjects(t *testing.T) {
	l := &podLoop{Kind: podKind{}}
	mine := podAt("7", "Running")
	l.statuses.writing(client.ObjectKeyFromObject(mine), mustJSON(&mine.Status))
	l.Awake().Delete(event.DeleteEvent{Object: mine})
	if len(l.statuses.written) != 0 {
		t.Errorf("%d statuses are left of deleted objects", len(l.statuses.written))
	}
}

func annotated(p *corev1.Pod) *corev1.Pod { p.Annotations = map[string]string{"a": "b"}; return p }
func finalized(p *corev1.Pod) *corev1.Pod { p.Finalizers = []string{"f"}; return p }
func otherUID(p *corev1.Pod) *corev1.Pod  { p.UID = "other"; return p }
func owned(p *corev1.Pod) *corev1.Pod {
	p.OwnerReferences = []metav1.OwnerReference{{UID: "owner"}}
	return p
}
func generation(p *corev1.Pod, g int64) *corev1.Pod { p.Generation = g; return p }
func deleted(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return p
}

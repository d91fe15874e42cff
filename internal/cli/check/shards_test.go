// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/shard"
	"espalier.dev/internal/testkit/clitest"
)

// Of processes that share the work each has to run.
func TestAShardWithoutAProcessIsFound(t *testing.T) {
	e := newEstate(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "espalier-controller"}}
	held := func(pod string, ago time.Duration) shard.Holder {
		return shard.Holder{Identity: pod, Acquired: clitest.Ago(time.Hour), Renewed: clitest.Ago(ago), Seconds: 15}
	}
	of := func(number, of int) shard.Shard { return shard.Shard{Number: number, Of: of} }
	for name, test := range map[string]struct {
		holders shard.Holders
		want    check.Finding
	}{
		"all run": {holders: shard.Holders{of(1, 3): held("a", 0), of(2, 3): held("b", 2*time.Second), of(3, 3): held("c", 40*time.Second)}},
		"one was stopped": {
			shard.Holders{of(1, 3): held("a", 0), of(3, 3): held("c", 0)},
			check.Finding{Level: check.Wrong, Message: "no process works on shard 2 of 3", Next: []string{"--shard=2/3"}},
		},
		"one was lost": {
			shard.Holders{of(1, 2): held("a", 5*time.Minute), of(2, 2): held("b", 0)},
			check.Finding{
				Level: check.Wrong, Message: "no process works on shard 1 of 2, so its installations and pipelines wait; a was the last, 5m0s ago",
				Next: []string{"kubectl -n espalier-system get pods"},
			},
		},
		"one of an earlier number was lost": {
			shard.Holders{of(2, 2): held("b", time.Hour), of(1, 3): held("x", 0)},
			check.Finding{Level: check.Wrong, Message: "no process works on shard 2 of 3", Next: []string{"--shard=2/3"}},
		},
		"the number changes": {
			shard.Holders{of(2, 2): held("b", 0), of(1, 3): held("x", 0)},
			check.Finding{Level: check.Doubtful, Message: "different numbers of shards (2, 3)", Next: []string{"check again later"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			holder, annotation := test.holders.Write()
			change(e, lease, func(l *coordinationv1.Lease) {
				l.Spec.HolderIdentity = &holder
				l.Annotations = map[string]string{shard.Annotation: annotation}
			})
			_, report := e.check(t)
			if test.want.Message == "" {
				if len(report.Findings) != 0 {
					t.Errorf("the findings are %+v", report.Findings)
				}
				return
			}
			if len(report.Findings) > 1 && report.Findings[0].Message != report.Findings[1].Message {
				report.Findings = report.Findings[:1] // of several shards that nobody works on, the first
			}
			test.want.Check, test.want.Object = "controllers", "Lease espalier-system/espalier-controller"
			wants(t, report, test.want)
		})
	}
	change(e, lease, func(l *coordinationv1.Lease) { l.Annotations[shard.Annotation] = "{" })
	_, report := e.check(t)
	wants(t, report, check.Finding{
		Level: check.Wrong, Check: "controllers", Object: "Lease espalier-system/espalier-controller", Message: "cannot be read",
		Next: []string{"delete lease espalier-controller"},
	})
}

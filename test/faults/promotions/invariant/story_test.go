// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// story is evidence written by hand. It starts with a pipeline from dev, which runs 1.1.0, to prod, which runs 1.0.0.
type story struct {
	Evidence
	pipeline *pipelines.Pipeline
}

func tell(manual bool) *story {
	p := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: types.UID("u"), Generation: 1}}
	p.Spec.Promotion = &pipelines.Promotion{Manual: manual}
	p.Status.Run = &pipelines.Run{Number: 1, Revision: "1.1.0"}
	p.Status.ObservedGeneration = 1
	p.Status.Environments = map[string]pipelines.EnvironmentStatus{}
	for name, revision := range map[string]string{"dev": "1.1.0", "prod": "1.0.0"} {
		p.Status.Environments[name] = pipelines.EnvironmentStatus{Targets: []pipelines.TargetStatus{{Ready: true, Revision: revision}}}
	}
	for _, name := range []string{"dev", "prod"} {
		p.Spec.Environments = append(p.Spec.Environments, pipelines.Environment{Name: name, Targets: []pipelines.Target{{Namespace: name}}})
	}
	s := &story{pipeline: p, Evidence: Evidence{Approved: map[Approval]bool{}}}
	return s.write(func(*pipelines.Pipeline) {})
}

// write changes the pipeline and stores it.
func (s *story) write(change func(*pipelines.Pipeline)) *story {
	s.pipeline = s.pipeline.DeepCopy()
	change(s.pipeline)
	s.pipeline.ResourceVersion = fmt.Sprint(len(s.History) + 1)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.pipeline)
	if err != nil {
		panic(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetKind("Pipeline")
	s.History = append(s.History, testkit.Revision{Change: testkit.Modified, Object: object})
	return s
}

// becomes sets the state of the promotion to prod.
func (s *story) becomes(state pipelines.PromotionState, changes ...func(*pipelines.PromotionStatus)) *story {
	return s.write(func(p *pipelines.Pipeline) {
		e := p.Status.Environments["prod"]
		if e.Promotion == nil {
			e.Promotion = &pipelines.PromotionStatus{Revision: "1.1.0", Run: 1, Key: "k1"}
		}
		e.Promotion = e.Promotion.DeepCopy()
		e.Promotion.State = state
		for _, change := range changes {
			change(e.Promotion)
		}
		p.Status.Environments["prod"] = e
	})
}

// sees sets the state of an environment's target.
func (s *story) sees(environment string, target pipelines.TargetStatus) *story {
	return s.write(func(p *pipelines.Pipeline) {
		e := p.Status.Environments[environment]
		e.Targets = []pipelines.TargetStatus{target}
		p.Status.Environments[environment] = e
	})
}

func (s *story) wiped() *story {
	return s.write(func(p *pipelines.Pipeline) { p.Status = pipelines.PipelineStatus{} }).
		write(func(p *pipelines.Pipeline) { *p = *tell(false).pipeline })
}

func (s *story) happened(event Event, number int64, key, revision string) *story {
	s.Ledger = append(s.Ledger, Entry{Event: event, Number: number, Environment: "prod", Key: key, Revision: revision})
	return s
}

func (s *story) allowed(revision string) *story {
	s.Approved[Approval{"prod", revision}] = true
	return s
}

func approvedWith(nonce string) func(*pipelines.PromotionStatus) {
	return func(p *pipelines.PromotionStatus) {
		p.Approval = &pipelines.Approval{Decision: pipelines.DecisionApproved, Nonce: nonce}
	}
}

// next is the promotion of the next revision.
func next(p *pipelines.PromotionStatus) {
	p.Revision, p.Run, p.Key, p.Approval = "1.2.0", 2, "k2", nil
}

// example is a story that keeps a rule, or breaks it with the expected message.
type example struct {
	story *story
	want  string // empty if the rule is kept
}

func check(t *testing.T, rule string, examples map[string]example) {
	t.Helper()
	for _, r := range Rules() {
		if r.ID != rule {
			continue
		}
		for name, e := range examples {
			t.Run(name, func(t *testing.T) { expect(t, r.Check(e.story.Evidence), e.want) })
		}
		return
	}
	t.Fatalf("there is no rule %s", rule)
}

func expect(t *testing.T, found []Violation, want string) {
	t.Helper()
	var lines []string
	for _, violation := range found {
		lines = append(lines, violation.String())
	}
	text := strings.Join(lines, "\n")
	if want == "" && text != "" || !strings.Contains(text, want) {
		t.Errorf("found %q, want %q", text, want)
	}
	if want != "" && len(found) != 1 {
		t.Errorf("found %d violations, want one:\n%s", len(found), text)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// TargetSelector selects Targets that meet all of its requirements. It lets several deployers of one type share the work.
type TargetSelector struct {
	// Targets are the names to select. An entry without a namespace means that name in every namespace.
	Targets []lsv1alpha1.ObjectReference `json:"targets,omitempty"`
	// Annotations are requirements on the annotations of the Target.
	Annotations []Requirement `json:"annotations,omitempty"`
	// Labels are requirements on the labels of the Target.
	Labels []Requirement `json:"labels,omitempty"`
}

// Requirement is a requirement on the value of one label or annotation.
type Requirement struct {
	Key string `json:"key"`
	// Operator is one of in, notin, =, ==, !=, exists and !. A missing key satisfies notin, != and !, as in Kubernetes.
	Operator selection.Operator `json:"operator"`
	Values   []string           `json:"values,omitempty"`
}

// Selects reports whether one of the selectors selects the Target. Without selectors, every Target is selected.
func Selects(selectors []TargetSelector, target *lsv1alpha1.Target) bool {
	for _, s := range selectors {
		if s.matches(target) {
			return true
		}
	}
	return len(selectors) == 0
}

func (s TargetSelector) matches(target *lsv1alpha1.Target) bool {
	return matchesName(s.Targets, target) && matchesAll(s.Annotations, target.Annotations) && matchesAll(s.Labels, target.Labels)
}

func matchesName(names []lsv1alpha1.ObjectReference, target *lsv1alpha1.Target) bool {
	for _, n := range names {
		if n.Name == target.Name && (n.Namespace == "" || n.Namespace == target.Namespace) {
			return true
		}
	}
	return len(names) == 0
}

func matchesAll(requirements []Requirement, values map[string]string) bool {
	for _, r := range requirements {
		if !r.met(values) {
			return false
		}
	}
	return true
}

func (r Requirement) met(values map[string]string) bool {
	value, there := values[r.Key]
	among := false
	for _, v := range r.Values {
		among = among || there && v == value
	}
	switch r.Operator {
	case selection.Exists:
		return there
	case selection.DoesNotExist:
		return !there
	case selection.NotIn, selection.NotEquals:
		return !among
	default:
		return among
	}
}

// Validate returns what is wrong with a selector.
func (s TargetSelector) Validate() error {
	var errs []error
	for i, target := range s.Targets {
		if target.Name == "" {
			errs = append(errs, fmt.Errorf("targets[%d].name is empty: set the name of a Target", i))
		}
	}
	for field, requirements := range map[string][]Requirement{"annotations": s.Annotations, "labels": s.Labels} {
		for i, r := range requirements {
			if problem := r.problem(); problem != "" {
				errs = append(errs, fmt.Errorf("%s[%d]: %s", field, i, problem))
			}
		}
	}
	return errors.Join(errs...)
}

func (r Requirement) problem() string {
	if r.Key == "" {
		return "key is empty: set a label or annotation"
	}
	switch r.Operator {
	case selection.In, selection.NotIn:
		if len(r.Values) == 0 {
			return fmt.Sprintf("operator %s needs at least one value", r.Operator)
		}
	case selection.Equals, selection.DoubleEquals, selection.NotEquals:
		if len(r.Values) != 1 {
			return fmt.Sprintf("operator %s needs exactly one value", r.Operator)
		}
	case selection.Exists, selection.DoesNotExist:
		if len(r.Values) != 0 {
			return fmt.Sprintf("operator %s takes no values", r.Operator)
		}
	default:
		return fmt.Sprintf("unknown operator %q: use in, notin, =, ==, !=, exists or !", r.Operator)
	}
	return ""
}

// ParseTargetSelector reads the text form of a selector: parts separated by semicolons, each of them
// targets=<namespace>/<name>,..., labels=<selector> or annotations=<selector>, where <selector> is written as for
// kubectl get -l. All parts must be met.
//
//	labels=fence=blue,!old
//	targets=garden/north,garden/south; annotations=team in (a,b)
func ParseTargetSelector(text string) (TargetSelector, error) {
	var s TargetSelector
	for part := range strings.SplitSeq(text, ";") {
		if err := s.add(strings.TrimSpace(part)); err != nil {
			return TargetSelector{}, fmt.Errorf("target selector %q: %w", text, err)
		}
	}
	return s, s.Validate()
}

func (s *TargetSelector) add(part string) error {
	name, value, _ := strings.Cut(part, "=")
	var err error
	switch strings.TrimSpace(name) {
	case "targets":
		s.Targets, err = parseTargets(s.Targets, value)
	case "labels":
		s.Labels, err = parseRequirements(s.Labels, value)
	case "annotations":
		s.Annotations, err = parseRequirements(s.Annotations, value)
	default:
		err = fmt.Errorf("%q is invalid: use targets=<namespace>/<name>, labels=<selector> or annotations=<selector>", part)
	}
	return err
}

func parseTargets(targets []lsv1alpha1.ObjectReference, value string) ([]lsv1alpha1.ObjectReference, error) {
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		namespace, rest, qualified := strings.Cut(name, "/")
		if !qualified {
			namespace, rest = "", name
		}
		if rest == "" || qualified && namespace == "" {
			return nil, fmt.Errorf("%q is not the name of a Target: use <namespace>/<name> or <name>", name)
		}
		targets = append(targets, lsv1alpha1.ObjectReference{Name: rest, Namespace: namespace})
	}
	return targets, nil
}

func parseRequirements(requirements []Requirement, value string) ([]Requirement, error) {
	parsed, err := labels.ParseToRequirements(value)
	if err != nil {
		return nil, err
	}
	if len(parsed) == 0 {
		return nil, errors.New("empty selector: set the labels or annotations that a Target must have")
	}
	for _, p := range parsed {
		requirements = append(requirements, Requirement{Key: p.Key(), Operator: p.Operator(), Values: p.ValuesUnsorted()})
	}
	return requirements, nil
}

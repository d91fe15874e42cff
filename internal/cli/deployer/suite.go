// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/connect"
)

// suite is what all rules are tried with.
type suite struct {
	connect.Connection
	itemType              lsv1alpha1.DeployItemType
	target                *lsv1alpha1.ObjectReference
	config, stuck, broken *runtime.RawExtension
	exports               []string
	timeout               time.Duration
	tell                  func(format string, args ...any)

	rule     string     // which is being tried
	subjects []*subject // that have been created for it
}

// violation says how a deployer breaks a rule. Every other error says that the rule could not be tried.
type violation struct{ message string }

func (v *violation) Error() string { return v.message }

func violatedf(format string, args ...any) error { return &violation{fmt.Sprintf(format, args...)} }

// because adds to a violation what may be behind it.
func because(err error, hint string) error {
	var broke *violation
	if !errors.As(err, &broke) {
		return err
	}
	return violatedf("%s; %s", broke.message, hint)
}

// try checks one rule after the other. What was created for one is gone before the next starts.
func (s *suite) try(ctx context.Context, chosen []rule) ([]result, error) {
	results := make([]result, 0, len(chosen))
	for _, r := range chosen {
		one := result{Name: r.name, Rule: r.promise, Outcome: notTried}
		if one.Message = r.lacks(s); one.Message == "" {
			s.tell("trying %s", r.name)
			s.rule = r.name
			err := r.try(ctx, s)
			s.cleanUp(ctx)
			var broke *violation
			switch {
			case err == nil:
				one.Outcome = kept
			case errors.As(err, &broke):
				one.Outcome, one.Message = broken, broke.message
			default:
				return nil, err
			}
		}
		results = append(results, one)
	}
	return results, nil
}

// cleanUp deletes what was created, also after Ctrl-C. What stays is named, with the command that lets it go.
func (s *suite) cleanUp(ctx context.Context) {
	if ctx.Err() != nil && len(s.subjects) > 0 {
		s.tell("interrupted; deleting the deploy items of this rule. Press Ctrl-C again to end at once; they then stay")
	}
	ctx = context.WithoutCancel(ctx)
	for _, item := range s.subjects {
		if err := item.remove(ctx); err != nil {
			s.tell("deploy item %s/%s is left behind: %v\n  next:  %s", s.Namespace, item.name, err, s.Access.SuggestKubectl(s.Namespace,
				"annotate", "deployitem", item.name, lsv1alpha1.DeleteWithoutUninstallAnnotation+"=true"))
		}
		item.history.Stop()
	}
	s.subjects = nil
}

// tempt has the deployer carry out a job of another item, so that it has had the occasion to do to the given ones what it must not do, and
// reads their histories up to then.
func (s *suite) tempt(ctx context.Context, items ...*subject) error {
	if _, err := s.deployed(ctx); err != nil {
		return err
	}
	for _, item := range items {
		if err := item.catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// deployed creates a deploy item whose first job has succeeded.
func (s *suite) deployed(ctx context.Context, changes ...func(*lsv1alpha1.DeployItem)) (*subject, error) {
	item, err := s.create(ctx, s.config, changes...)
	if err != nil {
		return nil, err
	}
	return item, item.succeeds(ctx)
}

// create creates a deploy item without any request. The API server names it, so that only its answer says what to clean up.
func (s *suite) create(ctx context.Context, config *runtime.RawExtension, changes ...func(*lsv1alpha1.DeployItem)) (*subject, error) {
	object := &lsv1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "conformance-" + s.rule + "-"},
		Spec:       lsv1alpha1.DeployItemSpec{Type: s.itemType, Target: s.target, Configuration: config},
	}
	for _, change := range changes {
		change(object)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.Client.Create(context.WithoutCancel(ctx), object); err != nil {
		return nil, fmt.Errorf("create a deploy item: %w", err)
	}
	item, err := follow(ctx, s, object)
	if err != nil {
		return nil, err
	}
	s.subjects = append(s.subjects, item)
	return item, nil
}

func (s *suite) explain(err error) error { return s.Access.Explain(err, "try the rules", s.Namespace) }

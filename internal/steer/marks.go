// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// marked is the value of an annotation that says how to delete an installation.
const marked = "true"

// unmarkLimit limits how long the marks of a failed deletion are removed, which also happens after Ctrl-C.
const unmarkLimit = 10 * time.Second

// deleteMarked deletes a root with annotations that say how. They apply to this deletion alone: if it fails, they are removed.
func (a Asker) deleteMarked(ctx context.Context, root *lsv1alpha1.Installation, marks ...string) error {
	if err := a.mayDelete(ctx, root); err != nil {
		return err
	}
	before, err := a.mark(ctx, root, marks)
	if err != nil {
		_, err = a.unmark(ctx, before, marks, err)
		return err
	}
	if err = a.delete(ctx, root); err == nil {
		return nil
	}
	gone, err := a.unmark(ctx, before, marks, err)
	if gone && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return nil // It went with its marks, so only the answer was lost.
	}
	return err
}

// mark sets annotations, and returns the installation as it was before.
func (a Asker) mark(ctx context.Context, root *lsv1alpha1.Installation, marks []string) (before *lsv1alpha1.Installation, err error) {
	yes, values := marked, map[string]*string{}
	for _, mark := range marks {
		values[mark] = &yes
	}
	before = root
	for {
		if err := a.annotateAll(ctx, before.DeepCopy(), values); !apierrors.IsConflict(err) {
			return before, failed(err, "mark installation %s", root.Name)
		}
		current, err := a.readAgain(ctx, root)
		if err != nil {
			return before, err
		}
		before = current
	}
}

// unmark gives the marks the values that they had before a deletion that has failed, and returns why it failed, and whether the
// installation is gone. A deletion of which only the answer was lost has not failed.
func (a Asker) unmark(parent context.Context, before *lsv1alpha1.Installation, marks []string, cause error) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), unmarkLimit)
	defer cancel()
	for {
		current, err := a.readAgain(ctx, before)
		if apierrors.IsNotFound(err) {
			return true, cause
		}
		if err != nil {
			return false, keeping(cause, before, marks)
		}
		kept, values := changed(before, current, marks)
		switch {
		case !current.DeletionTimestamp.IsZero() && allMarked(current, marks):
			return false, nil
		case !current.DeletionTimestamp.IsZero() || len(kept) == 0:
			return false, cause
		}
		if err = a.annotateAll(ctx, current, values); err == nil {
			return false, cause
		}
		if !apierrors.IsConflict(err) {
			return false, keeping(cause, before, kept)
		}
	}
}

func allMarked(root *lsv1alpha1.Installation, marks []string) bool {
	for _, mark := range marks {
		if root.Annotations[mark] != marked {
			return false
		}
	}
	return true
}

// changed returns the marks that an installation did not have before, and their values then.
func changed(before, current *lsv1alpha1.Installation, marks []string) (kept []string, values map[string]*string) {
	values = map[string]*string{}
	for _, mark := range marks {
		if current.Annotations[mark] != marked || before.Annotations[mark] == marked {
			continue
		}
		kept = append(kept, mark)
		values[mark] = nil
		if value, had := before.Annotations[mark]; had {
			values[mark] = &value
		}
	}
	return kept, values
}

// keeping adds to the error of a deletion that its marks could not be removed.
func keeping(cause error, root *lsv1alpha1.Installation, marks []string) error {
	var failed *Error
	if !errors.As(cause, &failed) {
		return cause
	}
	kept, annotation, them := *failed, "annotation", "it"
	if len(marks) > 1 {
		annotation, them = "annotations", "them"
	}
	kept.Kept = fmt.Sprintf("installation %s keeps the %s %s: remove %s, or the next deletion leaves deployed objects in place",
		root.Name, annotation, strings.Join(marks, " and "), them)
	return &kept
}

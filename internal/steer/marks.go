// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// marked is the value of an annotation that says how to delete an installation.
const marked = "true"

// markedFor is how long marks apply to the deletion for which they were set.
const markedFor = 2 * time.Minute

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
	if err = a.deleteInTime(ctx, root); err == nil {
		return nil
	}
	gone, err := a.unmark(ctx, before, marks, err)
	if gone && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return nil // It went with its marks, so only the answer was lost.
	}
	return err
}

// deleteInTime requests the deletion while the marks apply to it.
func (a Asker) deleteInTime(parent context.Context, root *lsv1alpha1.Installation) error {
	ctx, cancel := context.WithTimeout(parent, markedFor/4)
	defer cancel()
	return a.delete(ctx, root)
}

// mark sets annotations, and returns the installation as it was before.
func (a Asker) mark(ctx context.Context, root *lsv1alpha1.Installation, marks []string) (before *lsv1alpha1.Installation, err error) {
	now := a.serverTime(ctx)
	before = root
	for {
		values := markedBy(before, marks, now)
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

// markedBy returns the annotations of a marked installation. Those that a user has set stay when the marks expire.
func markedBy(before *lsv1alpha1.Installation, marks []string, now time.Time) map[string]*string {
	yes, values := marked, map[string]*string{}
	own := installation.DeletionMarks{Until: now.Add(markedFor)}
	for _, mark := range marks {
		values[mark] = &yes
		if before.Annotations[mark] != marked || slices.Contains(installation.DeletionMarksOf(before).Names, mark) {
			own.Names = append(own.Names, mark)
		}
	}
	values[installation.DeletionMarksAnnotation] = nil
	if text := own.String(); !now.IsZero() && len(own.Names) > 0 {
		values[installation.DeletionMarksAnnotation] = &text
	}
	return values
}

// serverTime returns the time of the API server; zero if it does not tell. The clock of this machine may be wrong.
func (a Asker) serverTime(ctx context.Context) time.Time {
	review := &authenticationv1.SelfSubjectReview{}
	if a.Client.Create(ctx, review) != nil {
		return time.Time{}
	}
	return review.CreationTimestamp.Time
}

// dropMarks removes what a command has left that was to delete a root in another way and ended before it could.
func (a Asker) dropMarks(ctx context.Context, root *lsv1alpha1.Installation) error {
	current := root.DeepCopy()
	for {
		marks := installation.DeletionMarksOf(current).Names
		if len(marks) == 0 || !current.DeletionTimestamp.IsZero() {
			return nil
		}
		values := map[string]*string{installation.DeletionMarksAnnotation: nil}
		for _, mark := range marks {
			values[mark] = nil
		}
		err := a.annotateAll(ctx, current, values)
		if !apierrors.IsConflict(err) {
			return failed(err, "remove the marks of an earlier deletion from installation %s", root.Name)
		}
		if current, err = a.readAgain(ctx, root); err != nil {
			return err
		}
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
	if text, had := before.Annotations[installation.DeletionMarksAnnotation]; had {
		values[installation.DeletionMarksAnnotation] = &text
	} else {
		values[installation.DeletionMarksAnnotation] = nil
	}
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

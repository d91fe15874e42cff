// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package steer_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/testkit"
)

// markedDeletions are the deletions that mark the installation first, and their marks.
var markedDeletions = map[string]struct {
	wish  func(context.Context, *world, *lsv1alpha1.Installation) error
	marks []string
}{
	"without uninstalling": {
		func(ctx context.Context, w *world, root *lsv1alpha1.Installation) error {
			return w.ask.Delete(ctx, root, true)
		},
		[]string{lsv1alpha1.DeleteWithoutUninstallAnnotation},
	},
	"forced": {
		func(ctx context.Context, w *world, root *lsv1alpha1.Installation) error {
			return w.ask.DeleteAnyway(ctx, root)
		},
		[]string{lsv1alpha1.DeleteWithoutUninstallAnnotation, lsv1alpha1.DeleteIgnoreSuccessorsAnnotation},
	},
}

// A mark that outlasts its deletion would make the next one leave what was deployed.
func TestADeletionThatFailsTakesItsMarksBack(t *testing.T) {
	for name, d := range markedDeletions {
		for plan, detached := range map[string]bool{
			"delete/installations:2:503": false, "delete/installations:2:reset": true, "patch/installations:1:lost": false,
		} {
			t.Run(name+" "+plan, func(t *testing.T) {
				w := newWorld(t, plan)
				before := map[string]string{d.marks[0]: "false", "example.com/other": "true"}
				root := w.installation(func(b *testkit.InstallationBuilder) {
					for annotation, value := range before {
						b.Annotate(annotation, value)
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if detached {
					w.transport.BeforeNth(2, "delete/installations", cancel)
				}
				if err := d.wish(ctx, w, root); err == nil || strings.Contains(err.Error(), "keeps") {
					t.Errorf("the error is %v", err)
				}
				if !w.Read(root) || !maps.Equal(root.Annotations, before) {
					t.Errorf("it has the annotations %v", root.Annotations)
				}
			})
		}
	}
}

func TestADeletionThatFailsNamesTheMarksThatStay(t *testing.T) {
	for name, d := range markedDeletions {
		for _, plan := range []string{"delete/installations:2:503;patch/installations:2:503", "delete/installations:2:503;get/installations:1:503"} {
			t.Run(name+" "+plan, func(t *testing.T) {
				w := newWorld(t, plan)
				root := w.installation(nil)
				want := "; installation shop keeps the annotation " + d.marks[0] + ": remove it, or the next deletion leaves deployed objects in place"
				if len(d.marks) == 2 {
					want = "; installation shop keeps the annotations " + d.marks[0] + " and " + d.marks[1] +
						": remove them, or the next deletion leaves deployed objects in place"
				}
				if err := d.wish(t.Context(), w, root); err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

// Without finalizers, such a deletion leaves nothing to read.
func TestADeletionWhoseAnswerIsLostAndThatLeavesNothing(t *testing.T) {
	for name, d := range markedDeletions {
		for _, fault := range []string{"lost", "lost-timeout"} {
			t.Run(name+" "+fault, func(t *testing.T) {
				w := newWorld(t, "delete/installations:2:"+fault)
				root := w.installation(nil)
				if err := d.wish(t.Context(), w, root); err != nil || w.Read(root) {
					t.Errorf("the error is %v, and the object %+v", err, root.ObjectMeta)
				}
			})
		}
		t.Run(name+" of another object", func(t *testing.T) {
			w := newWorld(t, "delete/installations:2:503")
			root := w.installation(nil)
			seen, successor := root.DeepCopy(), testkit.Installation(w.Namespace, "shop").Build()
			w.transport.BeforeNth(1, "patch/installations", func() { w.replace(seen, successor) })
			if err := d.wish(t.Context(), w, root); !apierrors.IsNotFound(err) || !w.Read(successor) || len(successor.Annotations) > 0 {
				t.Errorf("the error is %v, and the successor %+v", err, successor.ObjectMeta)
			}
		})
	}
}

// A deletion of which only the answer was lost has not failed, and keeps its marks.
func TestADeletionWhoseAnswerIsLost(t *testing.T) {
	for name, d := range markedDeletions {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "delete/installations:2:lost")
			root := w.installation(func(b *testkit.InstallationBuilder) { b.Finalizer("example.com/kept") })
			if err := d.wish(t.Context(), w, root); err != nil {
				t.Error(err)
			}
			w.Read(root)
			for _, mark := range d.marks {
				if root.DeletionTimestamp == nil || root.Annotations[mark] != "true" {
					t.Errorf("deleted at %v, annotations %v", root.DeletionTimestamp, root.Annotations)
				}
			}
			w.Patch(root, `{"metadata":{"finalizers":null}}`)
		})
	}
}

// Before its deletion, a frozen installation must not start the update that the freeze prevents.
func TestAForcedDeletionUnfreezesLast(t *testing.T) {
	w := newWorld(t, "")
	root := w.installation(func(b *testkit.InstallationBuilder) {
		b.Finalizer("example.com/kept").Annotate(lsv1alpha1.IgnoreAnnotation, "true")
	})
	seen := root.DeepCopy()
	w.transport.BeforeNth(2, "delete/installations", func() { w.Read(seen) })
	if err := w.ask.DeleteAnyway(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	w.Read(root)
	if _, frozen := root.Annotations[lsv1alpha1.IgnoreAnnotation]; frozen || root.DeletionTimestamp == nil ||
		seen.Annotations[lsv1alpha1.IgnoreAnnotation] != "true" || seen.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] != "true" {
		t.Errorf("before the deletion it had %v, and has %v", seen.Annotations, root.Annotations)
	}
	w.Patch(root, `{"metadata":{"finalizers":null}}`)
}

func TestAForcedDeletionThatStaysFrozenSaysSo(t *testing.T) {
	w := newWorld(t, "patch/installations:2:503")
	root := w.installation(func(b *testkit.InstallationBuilder) {
		b.Finalizer("example.com/kept").Annotate(lsv1alpha1.IgnoreAnnotation, "true")
	})
	err := w.ask.DeleteAnyway(t.Context(), root)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot unfreeze installation shop, whose deletion has started: ") {
		t.Errorf("the error is %v", err)
	}
	w.Read(root)
	w.Patch(root, `{"metadata":{"finalizers":null}}`)
}

// A command that is killed between its marks and its deletion leaves marks behind that a later deletion ignores, and that an ordinary one
// removes.
func TestMarksThatAKilledCommandLeaves(t *testing.T) {
	for name, d := range markedDeletions {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "delete/installations:2:before")
			root := w.installation(func(b *testkit.InstallationBuilder) {
				b.Finalizer("example.com/kept").Annotate("example.com/other", "true")
			})
			if err := d.wish(t.Context(), w, root); err == nil {
				t.Error("it was deleted")
			}
			w.Read(root)
			marks := installation.DeletionMarksOf(root)
			if age := marks.Until.Sub(root.CreationTimestamp.Time); !slices.Equal(marks.Names, d.marks) || age <= 0 || age > time.Hour {
				t.Errorf("the marks are %+v", marks)
			}
			for _, mark := range d.marks {
				if root.Annotations[mark] != "true" || installation.IsMarked(root, mark) {
					t.Errorf("%s is left as %q, and applies: %t", mark, root.Annotations[mark], installation.IsMarked(root, mark))
				}
			}
			if err := (steer.Asker{Client: w.Client()}).Delete(t.Context(), root, false); err != nil {
				t.Fatal(err)
			}
			w.Read(root)
			if want := map[string]string{"example.com/other": "true"}; root.DeletionTimestamp == nil || !maps.Equal(root.Annotations, want) {
				t.Errorf("it is deleted at %v with %v", root.DeletionTimestamp, root.Annotations)
			}
			w.Patch(root, `{"metadata":{"finalizers":null}}`)
		})
	}
}

// The next command of the same kind renews what an earlier one has left, and what a user has set stays as it is.
func TestMarksApplyToTheDeletionOfTheirCommand(t *testing.T) {
	for name, d := range markedDeletions {
		for set, before := range map[string]map[string]string{
			"fresh": {},
			"left": {
				d.marks[0]: "true", installation.DeletionMarksAnnotation: "2020-01-01T00:00:00Z " + d.marks[0],
			},
			"by a user": {d.marks[0]: "true"},
		} {
			t.Run(name+" "+set, func(t *testing.T) {
				w := newWorld(t, "")
				root := w.installation(func(b *testkit.InstallationBuilder) {
					b.Finalizer("example.com/kept")
					for annotation, value := range before {
						b.Annotate(annotation, value)
					}
				})
				if err := d.wish(t.Context(), w, root); err != nil {
					t.Fatal(err)
				}
				w.Read(root)
				for i, mark := range d.marks {
					users := set == "by a user" && i == 0
					if named := slices.Contains(installation.DeletionMarksOf(root).Names, mark); !installation.IsMarked(root, mark) || named == users {
						t.Errorf("%s does not apply: %v, deleted at %v", mark, root.Annotations, root.DeletionTimestamp)
					}
				}
				w.Patch(root, `{"metadata":{"finalizers":null}}`)
			})
		}
	}
}

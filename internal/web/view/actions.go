// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/objecttree"
)

// actions returns what a person can do to an installation. Jobs run through whole trees, so a nested installation is changed through its
// root.
func (s Scene) actions(node *objecttree.Node) []Action {
	change := s.denied(right{"patch", lsv1alpha1.GroupName, "installations", node.Namespace()})
	name, continuous := node.Name(), node.Continuous()
	ours := func(verb string) string { return command(node.Namespace(), verb, name) }
	actions := []Action{{
		ID: "reconcile", Label: "Reconcile", Command: ours("reconcile"), Denied: change, Unavailable: noReconcile(node),
		Explanation: "A job brings everything up to date. A running job finishes first.",
		Confirm:     fmt.Sprintf("Start a job of %s and of everything in it?", name),
	}}
	stop := Action{
		ID: "interrupt", Label: "Interrupt", Command: ours("interrupt"), Denied: change, Unavailable: noInterrupt(node), Danger: true,
		Explanation: "The running job ends as failed. What was deployed stays as it is.",
		Confirm:     fmt.Sprintf("End the running job of %s as failed?", name),
	}
	if !continuous {
		actions = append(actions, stop)
	} else {
		actions[0].Explanation, actions[0].Confirm = "Retries the same spec.", fmt.Sprintf("Retry %s?", name)
		stop.ID, stop.Label = "abort", "Abort"
		stop.Explanation, stop.Confirm = "Work on it stops. It continues with a new spec or on request.", fmt.Sprintf("Stop the work on %s?", name)
		actions = append(actions, stop, Action{
			ID: "force", Label: "Force", Denied: change, Unavailable: noReconcile(node), Danger: true,
			Command: words("kubectl", "annotate", "--overwrite", "installation", name, "-n", node.Namespace(),
				lsv1alpha1.OperationAnnotation+"="+string(lsv1alpha1.OperationForceReconcile)),
			Explanation: "Everything is updated at once, whatever it depends on.",
			Confirm:     fmt.Sprintf("Update everything in %s at once, whatever it depends on?", name),
		})
	}
	return append(actions, s.deletion(node))
}

func (s Scene) deletion(node *objecttree.Node) Action {
	a := Action{
		ID: "delete", Label: "Delete", Command: command(node.Namespace(), "delete", node.Name()), Unavailable: noDelete(node), Danger: true,
		Denied:      s.denied(right{"delete", lsv1alpha1.GroupName, "installations", node.Namespace()}),
		Explanation: "Deletes the installation and everything below it, and uninstalls what was deployed.",
		Confirm:     fmt.Sprintf("Delete %s and uninstall everything that it deployed?", node.Name()),
	}
	if LeavesDeployed(node) {
		a.Explanation = "Deletes the installation and everything below it. Because of its annotation, what was deployed stays."
		a.Confirm = fmt.Sprintf("Delete %s and keep what it deployed?", node.Name())
	}
	return a
}

// LeavesDeployed reports whether a deletion leaves what an installation has deployed, because of its annotation.
func LeavesDeployed(node *objecttree.Node) bool {
	return installation.IsMarked(node.Object, lsv1alpha1.DeleteWithoutUninstallAnnotation)
}

// nested says to use the root instead, for an installation that is not a root.
func nested(node *objecttree.Node) string {
	if objecttree.ParentOf(node.Object) == "" {
		return ""
	}
	return fmt.Sprintf("It is nested in another installation, and jobs run through whole trees. Use its root, %s.", node.Top().Name())
}

func noReconcile(node *objecttree.Node) string {
	if text := nested(node); text != "" {
		return text
	}
	if node.Object.GetDeletionTimestamp() != nil && !node.DeletionFailed() {
		return "It is being deleted, so it gets no new job."
	}
	return ""
}

func noInterrupt(node *objecttree.Node) string {
	if text := nested(node); text != "" {
		return text
	}
	switch {
	case node.Continuous() && node.Status.Phase.IsCompleted():
		return "Nothing is in progress."
	case !node.Continuous() && node.Status.IsFinished():
		return "It has no job to interrupt."
	}
	return ""
}

func noDelete(node *objecttree.Node) string {
	if text := nested(node); text != "" {
		return text
	}
	if node.Object.GetDeletionTimestamp() != nil && !node.DeletionFailed() {
		return "It is already being deleted."
	}
	return ""
}

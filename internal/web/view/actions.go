// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/objecttree"
)

// actions are what a person can do to an installation. Jobs run through whole trees, so that a nested one is changed by way of its root.
func (s Scene) actions(node *objecttree.Node) []Action {
	change := s.denied(right{"patch", lsv1alpha1.GroupName, "installations", node.Namespace()})
	name, continuous := node.Name(), node.Continuous()
	ours := func(verb string) string { return command(node.Namespace(), verb, name) }
	actions := []Action{{
		ID: "reconcile", Label: "Reconcile", Command: ours("reconcile"), Denied: change, Unavailable: noReconcile(node),
		Explanation: "A job brings everything up to date. One that is running is finished first.",
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
		actions[0].Explanation, actions[0].Confirm = "The same spec is tried again.", fmt.Sprintf("Try %s again?", name)
		stop.ID, stop.Label = "abort", "Abort"
		stop.Explanation, stop.Confirm = "Work on it stops. It goes on with a new spec or on request.", fmt.Sprintf("Stop the work on %s?", name)
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
		Explanation: "The installation goes with everything below it, and what it has deployed is uninstalled.",
		Confirm:     fmt.Sprintf("Delete %s and uninstall everything that it has deployed?", node.Name()),
	}
	if LeavesDeployed(node) {
		a.Explanation = "The installation goes with everything below it. Its annotation says that what it has deployed stays."
		a.Confirm = fmt.Sprintf("Delete %s and leave what it has deployed where it is?", node.Name())
	}
	return a
}

// LeavesDeployed reports whether a deletion leaves what an installation has deployed where it is, because its annotation says so.
func LeavesDeployed(node *objecttree.Node) bool {
	return node.Object.GetAnnotations()[lsv1alpha1.DeleteWithoutUninstallAnnotation] == "true"
}

// nested says where to ask instead of at an installation that is no root.
func nested(node *objecttree.Node) string {
	if objecttree.ParentOf(node.Object) == "" {
		return ""
	}
	return fmt.Sprintf("It is nested in another installation, and jobs run through whole trees. Ask at its root, %s.", node.Top().Name())
}

func noReconcile(node *objecttree.Node) string {
	failedDeletion := node.Status.Phase == lsv1alpha1.PhaseDeleteFailed && node.Status.IsFinished()
	if text := nested(node); text != "" {
		return text
	}
	if node.Object.GetDeletionTimestamp() != nil && !failedDeletion {
		return "It is being deleted and gets no new job."
	}
	return ""
}

func noInterrupt(node *objecttree.Node) string {
	if text := nested(node); text != "" {
		return text
	}
	switch {
	case node.Continuous() && node.Status.Phase.IsCompleted():
		return "Nothing is being worked on."
	case !node.Continuous() && node.Status.IsFinished():
		return "It has no job to interrupt."
	}
	return ""
}

func noDelete(node *objecttree.Node) string {
	if text := nested(node); text != "" {
		return text
	}
	if node.Object.GetDeletionTimestamp() != nil && node.Status.Phase != lsv1alpha1.PhaseDeleteFailed {
		return "It is being deleted already."
	}
	return ""
}

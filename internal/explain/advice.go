// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/objecttree"
)

// Reasons that matter here, beside those of the API.
const (
	// ReasonPredecessorFailed says that an installation has failed because of one that it imports from.
	ReasonPredecessorFailed = "PredecessorFailed"
	// ReasonTriggered says that an object has got its job and has not begun.
	ReasonTriggered = objecttree.Triggered
	// ReasonProceeding says that nothing is waited for: the controller of the object is about to go on, or does not run.
	ReasonProceeding = "Proceeding"
)

// Advice is what the user can do about a cause.
type Advice struct {
	// Somebody says that nothing more happens until somebody acts.
	Somebody bool
	// Hint is a sentence, empty if the commands speak for themselves.
	Hint string
	// Ours are arguments for our command line, Kubectl for kubectl; in the order in which to run them.
	Kubectl, Ours [][]string
}

// AdviceFor says what to do about the cause of a chain.
func AdviceFor(chain Chain) Advice {
	link := chain.Cause()
	if advice, pending := adviceForDeletion(link); pending {
		return advice
	}
	root := link.Node.Top().Name()
	if link.Reason == objecttree.ReleaseTakenOver {
		return Advice{
			Somebody: true,
			Hint:     "give one of the two deploy items a different release, or delete one; then start a new job",
			Kubectl:  [][]string{describe(link.Node)},
		}
	}
	switch link.Node.State() {
	case objecttree.NotStarted:
		return Advice{Somebody: true, Ours: [][]string{{"reconcile", root, "--wait"}}}
	case objecttree.Requested:
		return Advice{
			Hint: "the controllers answer requests at once: if this does not change, check that they run and see this namespace",
			Ours: [][]string{{"wait", root}},
		}
	case objecttree.Succeeded: // and yet there is something to say: it is outdated
		if link.Node.Continuous() {
			return Advice{Somebody: true, Hint: "remove the annotation", Kubectl: [][]string{describe(link.Node)}}
		}
		return Advice{Somebody: true, Ours: [][]string{{"reconcile", root, "--wait"}}}
	case objecttree.Failed:
		return adviceForFailed(link, root)
	case objecttree.Pending:
		return Advice{Ours: [][]string{{"tree", root}}}
	default:
		return withNewerSpec(adviceForRunning(link, root), link.Node.Top())
	}
}

// withNewerSpec adds what to do if somebody has changed the spec since the job began: it goes on with the old one.
func withNewerSpec(advice Advice, root *objecttree.Node) Advice {
	seen := root.Status.ObservedGeneration
	if root.Continuous() || begins(root.Status.Phase) || seen == 0 || seen == root.Object.GetGeneration() {
		return advice
	}
	const newer = "the spec has changed since this job began, and counts from the next job on: interrupt this one, or wait for its end"
	if advice.Hint != "" {
		advice.Hint += "; "
	}
	advice.Hint += newer
	advice.Ours = append([][]string{{"interrupt", root.Name()}, {"reconcile", root.Name(), "--wait"}}, advice.Ours...)
	return advice
}

func adviceForFailed(link Link, root string) Advice {
	advice := Advice{Somebody: true, Ours: [][]string{{"reconcile", root, "--wait"}}}
	if link.Node.Continuous() {
		return adviceForContinuous(link, root)
	}
	switch link.Reason {
	case lsv1alpha1.ReasonInterrupted:
		advice.Hint = "the job was interrupted"
	case lsv1alpha1.ReasonPickupTimeout:
		advice.Hint = deployerHint(link.Node)
		advice.Kubectl = [][]string{describe(link.Node)}
	default:
		advice.Hint = "fix the problem above, then start a new job"
		advice.Kubectl = [][]string{describe(link.Node)}
	}
	return advice
}

// adviceForContinuous is for what has failed without a job: a new spec is tried by itself, the same one on request.
func adviceForContinuous(link Link, root string) Advice {
	advice := Advice{Somebody: true, Kubectl: [][]string{describe(link.Node)}, Ours: [][]string{{"reconcile", root}, {"wait", root}}}
	switch link.Reason {
	case lsv1alpha1.ReasonAborted, lsv1alpha1.ReasonInterrupted:
		advice.Hint = "it was aborted; it continues with a new spec or on request"
	default:
		advice.Hint = "fix the problem above; a new spec takes effect by itself, anything else needs a request"
	}
	return advice
}

// Reasons of deploy items that meet a closed door. They are those of the packages that speak to targets, which this one
// cannot see.
const (
	reasonTargetInvalid        = "TargetInvalid"
	reasonTargetAddressRefused = "TargetAddressRefused"
	reasonTargetSecretMissing  = "TargetSecretMissing"
	reasonTargetTokenRefused   = "TargetTokenRefused"
	reasonTargetForbidden      = "TargetForbidden"
)

var closedDoors = []string{
	reasonTargetInvalid, reasonTargetAddressRefused, reasonTargetSecretMissing, reasonTargetTokenRefused, reasonTargetForbidden,
}

// needsSomebody are the reasons of waits that end only when somebody acts.
var needsSomebody = slices.Concat(
	[]string{
		lsv1alpha1.ReasonWaitingForImports, dataflow.ReasonImportNotFound, lsv1alpha1.ReasonNoTargetFound, lsv1alpha1.ReasonWaitingForQuota,
	},
	closedDoors,
)

func adviceForRunning(link Link, root string) Advice {
	if slices.Contains(closedDoors, link.Reason) {
		return Advice{
			Somebody: true,
			Hint:     fmt.Sprintf("correct the access to target %s, or the rights there; the job retries by itself", link.Node.Target()),
			Kubectl:  [][]string{describe(link.Node)},
			Ours:     [][]string{{"wait", root}},
		}
	}
	advice := Advice{Somebody: slices.Contains(needsSomebody, link.Reason), Ours: [][]string{{"wait", root}}}
	switch link.Reason {
	case lsv1alpha1.ReasonWaitingForImports, dataflow.ReasonImportNotFound:
		advice.Hint = "create what is missing, or correct the import; the job then continues by itself"
		advice.Kubectl = [][]string{{"get", "dataobjects,targets"}}
	case lsv1alpha1.ReasonNoTargetFound:
		advice.Hint = "create the Target, or correct the import; the job then continues by itself"
		advice.Kubectl = [][]string{{"get", "targets"}}
	case lsv1alpha1.ReasonWaitingForDeployer, ReasonTriggered, ReasonProceeding:
		advice.Hint = controllerHint(link.Node)
		advice.Kubectl = [][]string{describe(link.Node)}
	case lsv1alpha1.ReasonWaitingForReadiness:
		advice.Hint = "check the objects in target " + link.Node.Target()
		advice.Kubectl = [][]string{describe(link.Node)}
		advice.Ours = [][]string{{"tree", root, "--live"}, {"wait", root}}
	case lsv1alpha1.ReasonWaitingForJobs:
		advice.Hint = "the job starts by itself when another one ends, or when a cluster administrator raises the quota"
	case lsv1alpha1.ReasonWaitingForQuota:
		advice.Hint = "delete what is no longer needed, or ask a cluster administrator to raise the ResourceQuota; the job then continues by itself"
		advice.Kubectl = [][]string{{"describe", "resourcequota"}}
	case lsv1alpha1.ReasonWaitingForSuccessors:
		advice = adviceForSuccessors(link)
	default:
		if link.Node.InTrouble() {
			advice.Hint = "it is retried with backoff"
		}
		advice.Kubectl = [][]string{describe(link.Node)}
	}
	return advice
}

// adviceForSuccessors is for a deletion that waits until nobody needs the exports any more.
func adviceForSuccessors(link Link) Advice {
	advice := Advice{Hint: "delete those that import from it first"}
	for _, successor := range link.Node.Successors() {
		if successor.Object.GetDeletionTimestamp().IsZero() {
			advice.Somebody = true
			advice.Ours = append(advice.Ours, []string{"delete", successor.Name(), "--wait"})
		}
	}
	return advice
}

func controllerHint(node *objecttree.Node) string {
	if node.Kind == objecttree.DeployItem {
		return deployerHint(node)
	}
	return "the controllers act at once: if this does not change, check that they run and see this namespace"
}

func deployerHint(node *objecttree.Node) string {
	item, ok := node.DeployItem()
	if !ok {
		return ""
	}
	return fmt.Sprintf("check that a deployer for type %s runs and serves target %q", item.Spec.Type, node.Target())
}

func describe(node *objecttree.Node) []string {
	return []string{"describe", resources[node.Kind], node.Name()}
}

var resources = map[objecttree.Kind]string{
	objecttree.Installation: "installation", objecttree.Execution: "execution", objecttree.DeployItem: "deployitem",
}

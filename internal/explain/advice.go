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

// Reasons in addition to those of the API.
const (
	// ReasonPredecessorFailed means that an installation has failed because of one that it imports from.
	ReasonPredecessorFailed = "PredecessorFailed"
	// ReasonTriggered means that an object has its job and has not started it.
	ReasonTriggered = objecttree.Triggered
	// ReasonProceeding means that nothing is waited for: the controller of the object is about to continue, or is not running.
	ReasonProceeding = "Proceeding"
)

// Advice is what the user can do about a cause.
type Advice struct {
	// Somebody reports whether nothing more happens until a user acts.
	Somebody bool
	// Hint is a sentence; empty if the commands need no explanation.
	Hint string
	// Ours are arguments for our command line, Kubectl for kubectl; in the order in which to run them.
	Kubectl, Ours [][]string
}

// AdviceFor returns what to do about the cause of a chain.
func AdviceFor(chain Chain) Advice {
	link := chain.Cause()
	if link.Reason == reasonNamespaceEnds {
		return Advice{
			Hint:    "the namespace is being deleted, and everything in it goes with it: if this does not change, check that the controllers run",
			Kubectl: [][]string{{"describe", "namespace", link.Node.Namespace()}, describe(link.Node)},
		}
	}
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
	if link.Node.Top().HeldBack() {
		return adviceForSuspended(link, root)
	}
	switch link.Node.State() {
	case objecttree.NotStarted:
		return Advice{Somebody: true, Ours: [][]string{{"reconcile", root, "--wait"}}}
	case objecttree.Requested:
		return Advice{
			Hint: "the controllers answer requests at once: if this does not change, check that they run and see this namespace",
			Ours: [][]string{{"wait", root}},
		}
	case objecttree.Succeeded: // with something to report nevertheless: it is outdated
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

// adviceForSuspended is for a tree in which no new run starts until a user resumes it. Failures are retried only after that.
func adviceForSuspended(link Link, root string) Advice {
	advice := Advice{Somebody: true, Ours: [][]string{{"resume", root}}}
	if link.Node.State() == objecttree.Failed {
		advice.Hint = "fix the problem above, then resume the installation and start a new job"
		advice.Kubectl = [][]string{describe(link.Node)}
		advice.Ours = append(advice.Ours, []string{"reconcile", root})
	}
	return advice
}

// withNewerSpec adds what to do if the spec has changed since the job started: the job continues with the old one.
func withNewerSpec(advice Advice, root *objecttree.Node) Advice {
	seen := root.Status.ObservedGeneration
	if root.Continuous() || begins(root.Status.Phase) || seen == 0 || seen == root.Object.GetGeneration() {
		return advice
	}
	const newer = "the spec changed after this job started and takes effect with the next job: " +
		"interrupt this job, or wait until it finishes"
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

// adviceForContinuous is for failures in the continuous flow: a new spec is tried automatically, the same one on request.
func adviceForContinuous(link Link, root string) Advice {
	advice := Advice{Somebody: true, Kubectl: [][]string{describe(link.Node)}, Ours: [][]string{{"reconcile", root}, {"wait", root}}}
	switch link.Reason {
	case lsv1alpha1.ReasonAborted, lsv1alpha1.ReasonInterrupted:
		advice.Hint = "it was aborted; it continues with a new spec or on request"
	default:
		advice.Hint = "fix the problem above; a new spec takes effect automatically, anything else needs a request"
	}
	return advice
}

// Reasons of deploy items whose target is inaccessible. They are those of the packages that connect to targets, which this package cannot
// import.
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

// needsSomebody are the reasons of waits that end only when a user acts.
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
			Hint:     fmt.Sprintf("correct the access to target %s, or the rights there; the job retries automatically", link.Node.Target()),
			Kubectl:  [][]string{describe(link.Node)},
			Ours:     [][]string{{"wait", root}},
		}
	}
	advice := Advice{Somebody: slices.Contains(needsSomebody, link.Reason), Ours: [][]string{{"wait", root}}}
	switch link.Reason {
	case lsv1alpha1.ReasonWaitingForImports, dataflow.ReasonImportNotFound:
		advice.Hint = "create what is missing, or correct the import; the job then continues automatically"
		advice.Kubectl = [][]string{{"get", "dataobjects,targets"}}
	case lsv1alpha1.ReasonNoTargetFound:
		advice.Hint = "create the Target, or correct the import; the job then continues automatically"
		advice.Kubectl = [][]string{{"get", "targets"}}
	case lsv1alpha1.ReasonWaitingForDeployer, ReasonTriggered, ReasonProceeding:
		advice.Hint = controllerHint(link.Node)
		advice.Kubectl = [][]string{describe(link.Node)}
	case lsv1alpha1.ReasonWaitingForReadiness:
		advice.Hint = "check the objects in target " + link.Node.Target()
		advice.Kubectl = [][]string{describe(link.Node)}
		advice.Ours = [][]string{{"tree", root, "--live"}, {"wait", root}}
	case lsv1alpha1.ReasonWaitingForJobs:
		advice.Hint = "the job starts automatically when another one finishes, or when a cluster administrator raises the quota"
	case lsv1alpha1.ReasonWaitingForQuota:
		advice.Hint = "delete what is no longer needed, or ask a cluster administrator to raise the ResourceQuota; " +
			"the job then continues automatically"
		advice.Kubectl = [][]string{{"describe", "resourcequota"}}
	case lsv1alpha1.ReasonWaitingForSuccessors:
		advice = adviceForSuccessors(link)
	default:
		if link.Node.HasError() {
			advice.Hint = "the controller retries with backoff"
		}
		advice.Kubectl = [][]string{describe(link.Node)}
	}
	return advice
}

// adviceForSuccessors is for a deletion that waits until nothing imports the exports any more.
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

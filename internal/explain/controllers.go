// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/objecttree"
)

// Controllers calls the decision functions of the controllers to find out what they would say about an object now. So the command line
// cannot disagree with the controllers, and knows more than a status that is not rewritten for every object that finishes.
type Controllers struct {
	Now time.Time
	// targets are the names of the Targets per namespace; nil if they could not be read.
	targets map[string][]string
	// ending are the namespaces that are being deleted, as far as they could be read.
	ending map[string]bool
}

// reasonNamespaceEnds is the reason of everything in a namespace that is being deleted.
const reasonNamespaceEnds = "NamespaceTerminating"

// Read returns Controllers that know which Targets exist, and whether the namespace is being deleted, if the user may read that. It reads
// only metadata, because Targets hold credentials. An empty namespace means all.
func Read(ctx context.Context, c client.Reader, namespace string, now time.Time) *Controllers {
	controllers := &Controllers{Now: now, ending: endingOf(ctx, c, namespace)}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind("TargetList"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return controllers
	}
	controllers.targets = map[string][]string{}
	for _, target := range list.Items {
		controllers.targets[target.Namespace] = append(controllers.targets[target.Namespace], target.Name)
	}
	return controllers
}

// endingOf returns the namespaces that are being deleted; none if they cannot be read.
func endingOf(ctx context.Context, c client.Reader, namespace string) map[string]bool {
	var found []metav1.PartialObjectMetadata
	if namespace != "" {
		one := metav1.PartialObjectMetadata{}
		one.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := c.Get(ctx, client.ObjectKey{Name: namespace}, &one); err == nil {
			found = append(found, one)
		}
	} else {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		if err := c.List(ctx, list); err == nil {
			found = list.Items
		}
	}
	ending := map[string]bool{}
	for i := range found {
		ending[found[i].Name] = !found[i].DeletionTimestamp.IsZero()
	}
	return ending
}

// ends reports whether an object is in a namespace that is being deleted.
func (c *Controllers) ends(node *objecttree.Node) bool { return c != nil && c.ending[node.Namespace()] }

// explain says what holds up an object with a job. It returns false if the status knows better, because the cause was found while acting,
// such as a missing import, or is what a deployer waits for.
func (c Controllers) explain(node *objecttree.Node) (objecttree.Explanation, bool) {
	if c.ends(node) {
		return c.inEndingNamespace(node)
	}
	switch node.Kind {
	case objecttree.Installation:
		return c.installation(node)
	case objecttree.Execution:
		return c.execution(node)
	default:
		return c.deployItem(node)
	}
}

// known are the waits that decisions determine themselves. If a status contains one of them and the decision does not, the status is
// outdated.
var known = []string{
	lsv1alpha1.ReasonWaitingForPredecessors, lsv1alpha1.ReasonWaitingForSuccessors, lsv1alpha1.ReasonWaitingForSubObjects,
	lsv1alpha1.ReasonWaitingForOrphans, lsv1alpha1.ReasonWaitingForJobs,
}

// verdict interprets a decision about an object.
func verdict[E interface{ String() string }](node *objecttree.Node, d decision.Of[lsv1alpha1.Phase, E]) (objecttree.Explanation, bool) {
	if d.Wait && d.Next == "" && d.Why.Message != "" {
		return objecttree.Explanation{Reason: d.Why.Code, Message: d.Why.Message}, true
	}
	said := node.Explain()
	if said.Reason != "" && !slices.Contains(known, said.Reason) {
		return objecttree.Explanation{}, false
	}
	return objecttree.Explanation{Reason: ReasonProceeding, Message: "not waiting; the controller will " + plan(d)}, true
}

func plan[E interface{ String() string }](d decision.Of[lsv1alpha1.Phase, E]) string {
	var steps []string
	for _, effect := range d.Do {
		steps = append(steps, effect.String())
	}
	switch {
	case d.Next.IsFinal() && d.Why.Message != "":
		steps = append(steps, fmt.Sprintf("end the job as %s: %s", d.Next, d.Why.Message))
	case d.Next != "":
		steps = append(steps, fmt.Sprintf("enter phase %s", d.Next))
	}
	return strings.Join(steps, ", then ")
}

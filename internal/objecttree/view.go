// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"espalier.dev/internal/masking"
)

// View is the representation of an object in a tree for programs. It contains neither specs nor values.
type View struct {
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// As is the name that the object above uses for this one.
	As    string `json:"as,omitempty"`
	State State  `json:"state"`
	// Phase is that of the status, and so may belong to an earlier job than the state.
	Phase   string       `json:"phase,omitempty"`
	JobID   string       `json:"jobID,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// Type and Target are those of a deploy item.
	Type   string `json:"type,omitempty"`
	Target string `json:"target,omitempty"`
	// Deployed is what a deploy item has in its target cluster; nil unless it is requested.
	Deployed *Deployed `json:"deployed,omitempty"`
	Below    []*View   `json:"below,omitempty"`
}

// View returns the representation of the node itself.
func (n *Node) View() *View {
	explanation := n.Explain()
	v := &View{
		Kind: n.Kind, Namespace: n.Namespace(), Name: n.Name(), As: n.As, State: n.State(), Phase: string(n.Status.Phase),
		JobID: n.Status.JobID, Since: n.Status.PhaseTransitionTime, Reason: explanation.Reason, Message: explanation.Message,
	}
	if item, ok := n.DeployItem(); ok {
		v.Type = string(item.Spec.Type)
		v.Target = n.Target()
	}
	return v
}

// Target returns the name of a deploy item's target, empty if it has none. An invalid name is masked: a template may have put the value of
// a Secret there, and no Target can have it.
func (n *Node) Target() string {
	item, ok := n.DeployItem()
	if !ok || item.Spec.Target == nil || item.Spec.Target.Name == "" {
		return ""
	}
	if len(validation.IsDNS1123Subdomain(item.Spec.Target.Name)) > 0 {
		return masking.Mask
	}
	return item.Spec.Target.Name
}

// DeepView returns the representation of the node and of everything below it that is wanted, including what deploy items have deployed if
// objects is set.
func (n *Node) DeepView(wanted func(*Node) bool, objects bool) *View {
	v := n.View()
	if deployed := n.Deployed(); objects && (deployed.Release != nil || len(deployed.Objects) > 0) {
		v.Deployed = &deployed
	}
	for _, below := range n.Below {
		if wanted(below) {
			v.Below = append(v.Below, below.DeepView(wanted, objects))
		}
	}
	return v
}

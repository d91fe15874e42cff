// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Deployed is what a deploy item has in its target cluster, as its deployer has recorded it.
type Deployed struct {
	// Release is the Helm release, nil if there is none.
	Release *Release         `json:"release,omitempty"`
	Objects []DeployedObject `json:"objects,omitempty"`
	// Problem says why the cluster could not be read.
	Problem string `json:"problem,omitempty"`
}

// Release is a Helm release.
type Release struct {
	Name         string `json:"name"`
	Namespace    string `json:"namespace"`
	Revision     int    `json:"revision,omitempty"`
	Chart        string `json:"chart,omitempty"`
	ChartVersion string `json:"chartVersion,omitempty"`
	// TakenOverBy is the deploy item that owns the release now, if it is not the one that has recorded it.
	TakenOverBy string `json:"takenOverBy,omitempty"`
}

// LiveState is the state of an object in a target cluster.
type LiveState string

// These are the states of objects in target clusters. The empty one says that the cluster was not read.
const (
	Ready       LiveState = "Ready"
	NotReady    LiveState = "NotReady"
	Broken      LiveState = "Failed"
	Gone        LiveState = "Gone"
	NotReadable LiveState = "NotReadable"
)

// DeployedObject is an object in a target cluster.
type DeployedObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// State, Message and Below are known if the cluster was read.
	State   LiveState        `json:"state,omitempty"`
	Message string           `json:"message,omitempty"`
	Below   []DeployedObject `json:"below,omitempty"`
}

// Managed is an object as the deployer of a deploy item has recorded it.
type Managed struct {
	DeployedObject `json:",inline"`
	// UID is empty if the deployer has not seen the object yet, and in records of earlier controllers.
	UID types.UID `json:"uid,omitempty"`
	// Policy says how far the object belongs to the deploy item. It is empty for the workloads of a release.
	Policy string `json:"policy,omitempty"`
}

// recorded is the common part of all versions of provider statuses. In the oldest one, an object is at the top level, in the others below
// a field.
type recorded struct {
	Release          *Release `json:"release"`
	ManagedResources []struct {
		Managed  `json:",inline"`
		Resource *Managed `json:"resource"`
	} `json:"managedResources"`
}

// managed returns the objects, whatever the version.
func (r recorded) managed() []Managed {
	var all []Managed
	for _, entry := range r.ManagedResources {
		object := entry.Managed
		if entry.Resource != nil {
			object = *entry.Resource
			object.Policy = entry.Policy
		}
		all = append(all, object)
	}
	return all
}

// SetLive makes Deployed return what was found in the target cluster, instead of what the deployer has recorded.
func (n *Node) SetLive(deployed Deployed) { n.live = &deployed }

// Deployed returns what a deploy item has deployed. It is empty for other objects, and for deployers that record it in a different format.
func (n *Node) Deployed() Deployed {
	if n.live != nil {
		return *n.live
	}
	item, ok := n.DeployItem()
	if !ok {
		return Deployed{}
	}
	return RecordedBy(item)
}

// RecordedBy returns what the deployer of a deploy item has recorded as deployed.
func RecordedBy(item *lsv1alpha1.DeployItem) Deployed {
	status := recordOf(item)
	deployed := Deployed{Release: status.Release}
	for _, managed := range status.managed() {
		deployed.Objects = append(deployed.Objects, managed.DeployedObject)
	}
	return deployed
}

// ManagedBy returns the objects that the deployer of a deploy item has recorded, with what it knows of each.
func ManagedBy(item *lsv1alpha1.DeployItem) []Managed { return recordOf(item).managed() }

// recordOf reads a provider status. It is empty for deployers that use a different format.
func recordOf(item *lsv1alpha1.DeployItem) recorded {
	var status recorded
	if item.Status.ProviderStatus == nil || json.Unmarshal(item.Status.ProviderStatus.Raw, &status) != nil {
		return recorded{}
	}
	return status
}

// takenOver says which deploy item owns the release that this one has deployed, if it is another one. Few items have lost a release, so
// most statuses need not be read for this.
func (n *Node) takenOver() Explanation {
	item, ok := n.DeployItem()
	if !ok || !MayBeTakenOver(item) {
		return Explanation{}
	}
	var status recorded
	if json.Unmarshal(item.Status.ProviderStatus.Raw, &status) != nil || status.Release == nil || status.Release.TakenOverBy == "" {
		return Explanation{}
	}
	by := status.Release.TakenOverBy
	if strings.Contains(by, "/") {
		by = "deploy item " + by
	}
	return Explanation{Reason: ReleaseTakenOver, Message: fmt.Sprintf(
		"release %s/%s was taken over by %s, and is no longer managed here", status.Release.Namespace, status.Release.Name, by)}
}

// MayBeTakenOver reports whether the state of a deploy item depends on its provider status, which callers may drop otherwise.
func MayBeTakenOver(item *lsv1alpha1.DeployItem) bool {
	return item.Status.ProviderStatus != nil && bytes.Contains(item.Status.ProviderStatus.Raw, []byte(`"takenOverBy"`))
}

// ReleaseTakenOver is the reason of a deploy item whose release another one owns.
const ReleaseTakenOver = "ReleaseTakenOver"

// Title names the release for users.
func (r Release) Title() string {
	title := fmt.Sprintf("release %s/%s", r.Namespace, r.Name)
	if r.Revision > 0 {
		title += fmt.Sprintf(", revision %d", r.Revision)
	}
	if r.Chart != "" {
		title += fmt.Sprintf(", chart %s %s", r.Chart, r.ChartVersion)
	}
	return title
}

// Titles names the release and the objects for users.
func (d Deployed) Titles() []string {
	var titles []string
	if d.Release != nil {
		titles = append(titles, d.Release.Title())
	}
	for _, object := range d.Objects {
		titles = append(titles, object.Title())
	}
	return titles
}

// Title names the object for users.
func (o DeployedObject) Title() string {
	title := o.Kind + "/" + o.Name
	if o.Namespace != "" {
		title += " in " + o.Namespace
	}
	return title
}

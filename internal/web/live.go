// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/live"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
	"espalier.dev/internal/web/view"
)

// clustersOf are the target clusters as a reader sees them: Targets, their Secrets and tokens of service accounts are read with his rights,
// so that no client of his is ever another one's.
func (r *reader) clustersOf() *target.Clusters {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.clusters == nil {
		r.clusters = target.NewClusters(target.Options{
			Host: r.client, HostConfig: r.config, FewKinds: true, Dialer: dial.Rules{AllowLoopback: target.OnLoopback(r.config)},
		})
	}
	return r.clusters
}

// leave closes the connections of a reader who has gone. He gets new ones if he comes back.
func (r *reader) leave() {
	r.mutex.Lock()
	clusters := r.clusters
	r.clusters = nil
	r.mutex.Unlock()
	if clusters != nil {
		clusters.Close()
	}
}

// endTasks ends what goes on for readers when the server stops.
func (s *Server) endTasks() {
	s.tasks.End()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.readers {
		r.leave()
	}
}

// deployItemOf reads the deploy item that a request is about, with the caller's rights.
func (by caller) deployItemOf(r *http.Request) (*lsv1alpha1.DeployItem, error) {
	ref := refOf(r)
	ref.Kind = "DeployItem"
	object, err := by.read(r, ref)
	if err != nil {
		return nil, err
	}
	item, ok := object.(*lsv1alpha1.DeployItem)
	if !ok {
		return nil, fmt.Errorf("deploy item %s/%s was read as %T", ref.Namespace, ref.Name, object)
	}
	return item, nil
}

// maxLive is how many objects of a deploy item are shown. That is as many as are looked at.
const maxLive = 500

// live shows what a deploy item has in its target cluster now.
func (s *Server) live(r *http.Request, by caller) (any, error) {
	item, err := by.deployItemOf(r)
	if err != nil {
		return nil, err
	}
	recorded := objecttree.RecordedBy(item)
	shown := view.Live{}
	switch all := len(recorded.Objects); {
	case all == 0 && recorded.Release == nil:
		shown.Objects, shown.Message = view.NewLive(nil), "Its deployer has recorded no objects in a target cluster."
		return shown, nil
	case all > maxLive:
		recorded.Objects = recorded.Objects[:maxLive]
		shown.Message = fmt.Sprintf("These are %d of %d objects. The others are not looked at.", maxLive, all)
	}
	looked, err := live.Reader{Host: by.reader.client, Clusters: by.reader.clustersOf()}.Look(r.Context(), item, recorded)
	if err != nil {
		shown.Message = whyNotLooked(item, err)
		if len(looked) > 0 {
			shown.Message = "The objects are as its deployer has recorded them. " + shown.Message
		}
	}
	if why, none := allUnreadable(looked); none {
		shown.Message = "Nothing in the target cluster can be read: " + why
	}
	shown.Objects = view.NewLive(looked)
	return shown, nil
}

// allUnreadable reports whether no object could be read, and why the first could not.
func allUnreadable(objects []objecttree.DeployedObject) (why string, none bool) {
	for _, object := range objects {
		if object.State != objecttree.NotReadable {
			return "", false
		}
		why = cmp.Or(why, object.Message)
	}
	return why, len(objects) > 0
}

// whyNotLooked says why a target cluster cannot be looked at, without a value of the Target.
func whyNotLooked(item *lsv1alpha1.DeployItem, err error) string {
	if item.Spec.Target == nil {
		return "It names no target."
	}
	return whyNotRead(view.Ref{Kind: "Target", Namespace: item.Namespace, Name: item.Spec.Target.Name}, err)
}

// whyNotRead says why a Target or a GitopsCluster cannot be used by a reader.
func whyNotRead(ref view.Ref, err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) || status.Status().Details == nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Sprintf("The cluster of %s %s does not answer.", ref.Kind, ref.Name)
		}
		return fmt.Sprintf("%s %s cannot be used: %s.", ref.Kind, ref.Name, masking.Words(err))
	}
	refused := status.Status().Details
	right := getRight(refused.Group, refused.Kind)
	return fmt.Sprintf("You may not use %s %s: that needs the right to %s %s in namespace %s. To check: %s. "+
		"Whoever manages the roles of this cluster can grant it.",
		ref.Kind, ref.Name, right.Verb, right.Resource, ref.Namespace, right.Command(ref.Namespace))
}

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
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/live"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
	"espalier.dev/internal/web/view"
)

// clustersOf returns the target clusters as a reader sees them: Targets, their Secrets and tokens of service accounts are read with the
// reader's rights, so that readers never share clients.
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

// leave closes the connections of a reader who has left. They get new ones when they come back.
func (r *reader) leave() {
	r.mutex.Lock()
	clusters := r.clusters
	r.clusters = nil
	r.mutex.Unlock()
	if clusters != nil {
		clusters.Close()
	}
}

// endTasks ends background tasks of readers when the server stops.
func (s *Server) endTasks() {
	s.tasks.End()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.readers {
		r.leave()
	}
}

// deployItemOf reads the deploy item that a request names, with the caller's rights.
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

// maxLive is the maximum number of objects of a deploy item that are read and shown.
const maxLive = 500

// live shows the objects of a deploy item in its target cluster now.
func (s *Server) live(r *http.Request, by caller) (any, error) {
	item, err := by.deployItemOf(r)
	if err != nil {
		return nil, err
	}
	recorded := objecttree.RecordedBy(item)
	shown := view.Live{}
	switch all := len(recorded.Objects); {
	case all == 0 && recorded.Release == nil:
		shown.Objects, shown.Message = view.NewLive(nil), "Its deployer recorded no objects in a target cluster."
		return shown, nil
	case all > maxLive:
		recorded.Objects = recorded.Objects[:maxLive]
		shown.Message = fmt.Sprintf("Showing %d of %d objects. The others are not checked.", maxLive, all)
	}
	reader := live.Reader{
		Host: by.reader.client, Clusters: by.reader.clustersOf(), Secrets: confidential.Reader{Live: by.reader.client}.OfDeployItem,
	}
	looked, err := reader.Look(r.Context(), item, recorded)
	if err != nil {
		shown.Message = whyNotLooked(item, err)
		if len(looked) > 0 {
			shown.Message = "Objects as recorded by the deployer. " + shown.Message
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

// whyNotLooked says why a target cluster cannot be read, without quoting the Target.
func whyNotLooked(item *lsv1alpha1.DeployItem, err error) string {
	if item.Spec.Target == nil {
		return "It names no target."
	}
	return whyNotRead(view.Ref{Kind: "Target", Namespace: item.Namespace, Name: item.Spec.Target.Name}, err)
}

// whyNotRead says why a reader cannot use a Target or a GitopsCluster.
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
		"Ask an administrator of this cluster to grant it.",
		ref.Kind, ref.Name, right.Verb, right.Resource, ref.Namespace, right.Command(ref.Namespace))
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/reach"
	"espalier.dev/internal/masking"
)

// targetTime is how long a target cluster may take to tell of an object.
const targetTime = 10 * time.Second

// place is the cluster that the object is in.
type place struct {
	access *connect.Access
	reader client.Reader
	mapper meta.RESTMapper
	// target is the Target that leads to the cluster; nil if it is the one of the connection.
	target *client.ObjectKey
	masks  *masking.Values
	close  func()
}

// here is the cluster of the connection.
func here(ctx context.Context, access *connect.Access) (*place, error) {
	config, err := access.Config()
	if err != nil {
		return nil, err
	}
	p := &place{access: access, close: func() {}}
	if p.mapper, err = kindsOf(ctx, config, access); err != nil {
		return nil, err
	}
	if p.reader, err = client.New(config, client.Options{Mapper: p.mapper}); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return p, nil
}

// behind is the cluster of a Target.
func behind(ctx context.Context, access *connect.Access, key client.ObjectKey) (*place, error) {
	targets, err := reach.Open(access)
	if err != nil {
		return nil, err
	}
	cluster, masks, err := targets.Cluster(ctx, key)
	p := &place{access: access, target: &key, masks: masks, close: targets.Close}
	if err == nil {
		p.reader = cluster.Client()
		config := cluster.Config()
		config.Timeout = targetTime
		p.mapper, err = kindsOf(ctx, config, access)
	}
	if err != nil {
		targets.Close()
		return nil, access.Explain(err, "reach the cluster of Target "+key.String(), key.Namespace)
	}
	return p, nil
}

// kindsOf knows the kinds of a cluster by all names that kubectl takes. It asks for them later, without a context, so the deadline of this
// one applies.
func kindsOf(ctx context.Context, config *rest.Config, access *connect.Access) (meta.RESTMapper, error) {
	if deadline, bounded := ctx.Deadline(); bounded {
		config.Timeout = time.Until(deadline)
	}
	asker, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("prepare to ask for kinds: %w", err)
	}
	cached := memory.NewMemCacheClient(asker)
	warn := func(text string) { access.Tell("%s", text) }
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, warn), nil
}

// within bounds requests to a target cluster: one that is down would hold up the command.
func (p *place) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.target == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, targetTime)
}

// find reads the object that a user names.
func (p *place) find(ctx context.Context, kind string, key client.ObjectKey) (*liveObject, error) {
	gvk, err := p.kind(kind)
	if err != nil {
		return nil, err
	}
	found, err := p.read(ctx, gvk, key)
	if apierrors.IsNotFound(err) {
		return nil, &cli.Problem{
			Code: cli.ExitNotFound, What: fmt.Sprintf("%s/%s does not exist", gvk.Kind, key.Name), Where: p.where(key.Namespace),
			Next: []string{"name its namespace with -n, or the Target that leads to its cluster with --target"}, Cause: err,
		}
	}
	return found, p.explain(err, fmt.Sprintf("read %s/%s", gvk.Kind, key.Name), key.Namespace)
}

// kind finds a kind by any of the names that kubectl takes.
func (p *place) kind(name string) (schema.GroupVersionKind, error) {
	full, resource := schema.ParseResourceArg(strings.ToLower(name))
	if full != nil {
		if gvk, err := p.mapper.KindFor(*full); err == nil {
			return gvk, nil
		}
	}
	gvk, err := p.mapper.KindFor(resource.WithVersion(""))
	var ambiguous *meta.AmbiguousResourceError
	switch {
	case err == nil:
		return gvk, nil
	case errors.As(err, &ambiguous) && len(ambiguous.MatchingKinds) > 0:
		return ambiguous.MatchingKinds[0], nil
	case meta.IsNoMatchError(err):
		return schema.GroupVersionKind{}, &cli.Problem{
			Code: cli.ExitNotFound, What: fmt.Sprintf("the cluster knows no kind %q", name), Where: p.where(""),
			Next: []string{p.access.SuggestKubectl("", "api-resources")}, Cause: err,
		}
	}
	return gvk, p.explain(err, "ask the cluster for its kinds", "")
}

// read reads the metadata of an object, and nothing else of it.
func (p *place) read(ctx context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) (*liveObject, error) {
	ctx, cancel := p.within(ctx)
	defer cancel()
	found := &liveObject{}
	found.SetGroupVersionKind(gvk)
	err := p.reader.Get(ctx, key, found)
	found.SetGroupVersionKind(gvk)
	return found, err
}

// ownerOf reads the object that an object belongs to in the sense of Kubernetes; nil if there is none.
func (p *place) ownerOf(ctx context.Context, o *liveObject) (*liveObject, error) {
	owner := metav1.GetControllerOf(o)
	if owner == nil && len(o.OwnerReferences) == 1 {
		owner = &o.OwnerReferences[0]
	}
	if owner == nil {
		return nil, nil
	}
	gvk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	found, err := p.read(ctx, gvk, client.ObjectKey{Namespace: o.Namespace, Name: owner.Name})
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err), err == nil && found.UID != owner.UID:
		return nil, nil
	case err != nil:
		return nil, p.explain(err, fmt.Sprintf("read %s/%s, to which %s belongs", owner.Kind, owner.Name, titleOf(o)), o.Namespace)
	}
	return found, nil
}

// records are those of a release. It reports whether they could be read.
func (p *place) records(ctx context.Context, release client.ObjectKey) ([]liveObject, bool) {
	ctx, cancel := p.within(ctx)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "SecretList"})
	err := p.reader.List(ctx, list, client.InNamespace(release.Namespace), client.MatchingLabels{"owner": "helm", "name": release.Name})
	return list.Items, err == nil
}

// explain words an error of the cluster. What a target cluster says is masked.
func (p *place) explain(err error, attempted, namespace string) error {
	var known *cli.Problem
	if err == nil || p.target == nil || errors.As(err, &known) {
		return p.access.Explain(err, attempted, namespace)
	}
	code := cli.ExitError
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		code = cli.ExitNotFound
	}
	return &cli.Problem{
		Code: code, What: fmt.Sprintf("cannot %s: %v", attempted, p.masks.Error(err)), Where: p.where(namespace), Cause: err,
		Next: []string{p.access.Suggest(p.target.Namespace, "check")},
	}
}

// where names the place of an object.
func (p *place) where(namespace string) string {
	if p.target == nil {
		return p.access.Where(namespace)
	}
	text := "the cluster of Target " + p.target.String()
	if namespace != "" {
		text = "namespace " + namespace + " in " + text
	}
	return text
}

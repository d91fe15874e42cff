// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Strict determines the tenants of objects. Enter and Within may be called on nil, which stands for shared tenancy.
type Strict struct {
	// cluster reads Contexts and namespaces from the cache.
	cluster client.Client
	live    client.Reader
	reviews reviews
}

// Begin enables strict tenancy for a manager whose connection uses Transport. It must be called before controllers are added.
func (s *Strict) Begin(mgr ctrl.Manager) error {
	s.cluster, s.live = mgr.GetClient(), mgr.GetAPIReader()
	if Of(mgr) != s {
		return errors.New("the connection of the manager does not impersonate tenants: this is a bug in the controller")
	}
	return nil
}

// Of returns the tenancy of a manager, nil if it is shared. It is found through the manager's connection, so that a tenant's work always
// impersonates the tenant.
func Of(mgr ctrl.Manager) *Strict {
	for next := mgr.GetHTTPClient().Transport; next != nil; {
		if t, ok := next.(transport); ok {
			return t.strict
		}
		wrapper, ok := next.(utilnet.RoundTripperWrapper)
		if !ok {
			return nil
		}
		next = wrapper.WrappedRoundTripper()
	}
	return nil
}

// Enter marks a context for the work on an object. When a namespace is deleted, the rights of its service accounts are deleted
// first, and cannot be granted again: so the controllers use their own rights to clean up.
func (s *Strict) Enter(ctx context.Context, object client.Object) context.Context {
	if s == nil {
		return ctx
	}
	tenant := s.tenant(ctx, object.GetNamespace(), contextOf(object))
	if !object.GetDeletionTimestamp().IsZero() {
		tenant.aside = s.ends(ctx, object.GetNamespace())
	}
	return tenant.In(ctx)
}

// Within marks a context for work in a namespace, for an object that names no Context.
func (s *Strict) Within(ctx context.Context, namespace string) context.Context {
	if s == nil || namespace == "" {
		return ctx
	}
	return s.tenant(ctx, namespace, lsv1alpha1.DefaultContextName).In(ctx)
}

// contextOf returns the name of the Context of an object.
func contextOf(object client.Object) string {
	named := ""
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		named = o.Spec.Context
	case *lsv1alpha1.Execution:
		named = o.Spec.Context
	case *lsv1alpha1.DeployItem:
		named = o.Spec.Context
	}
	return cmp.Or(named, lsv1alpha1.DefaultContextName)
}

//espalier:rights tenancy
//	get,list,watch contexts: which service account does the work of an object
//	get,list,watch namespaces: to detect that a namespace is being deleted, where rights may disappear before the objects that need them

// tenant determines the service account for objects with a Context. If the Context does not exist, the default one applies: the
// creator of the object could have named it as well.
func (s *Strict) tenant(ctx context.Context, namespace, name string) *Tenant {
	tenant := &Tenant{strict: s}
	found := &lsv1alpha1.Context{}
	for _, name := range []string{name, lsv1alpha1.DefaultContextName} {
		found = &lsv1alpha1.Context{}
		key := client.ObjectKey{Namespace: namespace, Name: name}
		err := s.cluster.Get(ctx, key, found, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) && name != lsv1alpha1.DefaultContextName {
			err = s.live.Get(ctx, key, found) // it may have been created together with the object
		}
		if err == nil {
			break
		}
		if !apierrors.IsNotFound(err) {
			tenant.problem = fmt.Errorf("read Context %s, which names the service account for the work: %w", key, err)
			return tenant
		}
		found = &lsv1alpha1.Context{}
	}
	tenant.account, tenant.problem = accountIn(found, namespace)
	return tenant
}

// ends reports whether a namespace is being deleted. It reads from the API server: the cache may contain an earlier one of that name.
func (s *Strict) ends(ctx context.Context, name string) bool {
	for _, reader := range []client.Reader{s.cluster, s.live} {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil || namespace.DeletionTimestamp.IsZero() {
			return false
		}
	}
	return true
}

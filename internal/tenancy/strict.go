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

// Strict finds the tenants of objects. Enter and Within may be called on nil, which stands for shared tenancy.
type Strict struct {
	// cluster reads Contexts and namespaces from the cache.
	cluster client.Client
	live    client.Reader
	reviews reviews
}

// Begin lets a manager work in strict tenancy, whose connection goes through Transport. It is to be called before controllers are added.
func (s *Strict) Begin(mgr ctrl.Manager) error {
	s.cluster, s.live = mgr.GetClient(), mgr.GetAPIReader()
	if Of(mgr) != s {
		return errors.New("the connection of the manager does not impersonate tenants: this is a defect of the controller")
	}
	return nil
}

// Of returns the tenancy of a manager, nil if it is shared. It is that of the manager's connection, so that nobody can do a tenant's work
// without impersonating the tenant.
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

// Enter marks a context as that of the work on an object. In a namespace that is being deleted the rights of its accounts go first, and
// cannot be given again: what goes with it is removed by the controllers themselves.
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

// Within marks a context as that of work for a namespace, on behalf of an object that names no Context.
func (s *Strict) Within(ctx context.Context, namespace string) context.Context {
	if s == nil || namespace == "" {
		return ctx
	}
	return s.tenant(ctx, namespace, lsv1alpha1.DefaultContextName).In(ctx)
}

// contextOf is the name of the Context that an object is worked on with.
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
//	get,list,watch namespaces: in a namespace that is being deleted, rights go before what they are for

// tenant finds the account for objects with a Context. One that does not exist leaves the choice to the default one, which whoever
// creates the object could have named as well.
func (s *Strict) tenant(ctx context.Context, namespace, name string) *Tenant {
	tenant := &Tenant{strict: s}
	found := &lsv1alpha1.Context{}
	for _, name := range []string{name, lsv1alpha1.DefaultContextName} {
		found = &lsv1alpha1.Context{}
		key := client.ObjectKey{Namespace: namespace, Name: name}
		err := s.cluster.Get(ctx, key, found, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) && name != lsv1alpha1.DefaultContextName {
			err = s.live.Get(ctx, key, found) // it may have come together with the object
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

// ends reports whether a namespace is being deleted. The API server has the last word: the cache may show another one of that name.
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

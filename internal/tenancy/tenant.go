// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy

import "context"

// Tenant is the tenant on whose behalf work is done, in strict tenancy. All methods may be called on nil, which means shared tenancy.
type Tenant struct {
	strict  *Strict
	account Account
	// problem is why there is no service account. Nothing is done for the tenant then.
	problem error
	// aside reports whether requests are the controllers' own.
	aside bool
}

type contextKey struct{}

// From returns the tenant of a context, nil in shared tenancy.
func From(ctx context.Context) *Tenant {
	tenant, _ := ctx.Value(contextKey{}).(*Tenant)
	return tenant
}

// In marks a context for the tenant's work.
func (t *Tenant) In(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, t)
}

// Own returns a context for the controllers' own requests during a tenant's work.
func Own(ctx context.Context) context.Context {
	tenant := From(ctx)
	if tenant == nil || tenant.aside {
		return ctx
	}
	own := *tenant
	own.aside = true
	return own.In(ctx)
}

// Itself returns the tenant for work that is never the controllers' own, even in a context from Own.
func (t *Tenant) Itself() *Tenant {
	if t == nil || !t.aside {
		return t
	}
	itself := *t
	itself.aside = false
	return &itself
}

// Account returns the service account of the tenant, the zero value in shared tenancy. It returns an error if there is none.
func (t *Tenant) Account() (Account, error) {
	if t == nil {
		return Account{}, nil
	}
	return t.account, t.problem
}

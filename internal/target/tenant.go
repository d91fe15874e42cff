// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/tenancy"
)

// tenant is for whom a Target is used, if tenancy is strict; else the zero value. In the cluster that holds the Target, the tenant's
// account is impersonated. Tokens of other accounts are asked for as that account, so that it needs the right to create them.
type tenant struct {
	*tenancy.Tenant
	account tenancy.Account
}

// tenantIn returns the tenant whose work is done.
func tenantIn(ctx context.Context) (tenant, error) {
	t := tenancy.From(ctx).Itself()
	account, err := t.Account()
	return tenant{Tenant: t, account: account}, err
}

// String tells the clients of tenants apart; it is empty in shared tenancy.
func (t tenant) String() string {
	if t.Tenant == nil {
		return ""
	}
	return t.account.User()
}

// asker is how messages name who asks for tokens.
func (t tenant) asker() string {
	if t.Tenant == nil {
		return "the controller"
	}
	return "the service account " + t.account.String() + ", as which the work of this namespace is done (--tenancy=strict),"
}

// owner is the name of an owner on behalf of the tenant.
func (t tenant) owner(name string) string {
	if t.Tenant == nil {
		return name
	}
	return name + actingAs + t.account.Name
}

// actingAs stands between the name of a Target and the account that uses it.
const actingAs = " as "

// actingFor has a tenant ask for all tokens.
func (a *access) actingFor(as tenant) *access {
	if a == nil {
		return nil
	}
	for _, wish := range []*tokenWish{a.self, a.oidc} {
		if wish != nil {
			wish.as = as
		}
	}
	return a
}

// isForTenant reports whether the wish is to act as the very account of the tenant.
func (w *tokenWish) isForTenant() bool {
	return w.as.Tenant != nil && w.as.account == tenancy.Account{Namespace: w.namespace, Name: w.account}
}

// tenantRoute leads to the cluster that holds the Targets by way of the controllers' own credential, with the rights of the tenant's
// account: the API server lets them impersonate it, and no token is needed.
func (c *Clusters) tenantRoute(wish *tokenWish) (*route, error) {
	if c.options.HostConfig == nil {
		return nil, invalid("the service account %s cannot be used: %w", wish, c.noTokens)
	}
	config := rest.CopyConfig(c.options.HostConfig)
	config.WrapTransport, config.Transport = nil, nil
	config.Impersonate = rest.ImpersonationConfig{UserName: wish.as.account.User()}
	way, err := c.hostRoute(config, fixedCredential(""))
	if err != nil {
		return nil, err
	}
	way.wrap = func(next http.RoundTripper) (http.RoundTripper, error) {
		return rest.HTTPWrappersForConfig(config, next)
	}
	return way, nil
}

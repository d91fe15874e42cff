// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/tenancy"
)

// tenant is the tenant for whom a Target is used, if tenancy is strict; otherwise the zero value. In the cluster that contains the
// Target, the tenant's account is impersonated. Tokens of other accounts are requested as that account, so that it needs the right
// to create them.
type tenant struct {
	*tenancy.Tenant
	account tenancy.Account
}

// tenantIn returns the tenant of the current work.
func tenantIn(ctx context.Context) (tenant, error) {
	t := tenancy.From(ctx).Itself()
	account, err := t.Account()
	return tenant{Tenant: t, account: account}, err
}

// String distinguishes the clients of tenants; it is empty in shared tenancy.
func (t tenant) String() string {
	if t.Tenant == nil {
		return ""
	}
	return t.account.User()
}

// asker names, in messages, who requests tokens.
func (t tenant) asker() string {
	if t.Tenant == nil {
		return "the controller"
	}
	return "the service account " + t.account.String() + ", which the controllers act as in this namespace (--tenancy=strict),"
}

// owner returns the name of an owner on behalf of the tenant.
func (t tenant) owner(name string) string {
	if t.Tenant == nil {
		return name
	}
	return name + actingAs + t.account.Name
}

// actingAs separates the name of a Target and the account that uses it.
const actingAs = " as "

// actingFor makes a tenant request all tokens.
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

// isForTenant reports whether the token is for the tenant's own account.
func (w *tokenWish) isForTenant() bool {
	return w.as.Tenant != nil && w.as.account == tenancy.Account{Namespace: w.namespace, Name: w.account}
}

// tenantRoute returns the route to the cluster that holds the Targets with the controllers' own credential and the rights of the
// tenant's account: the API server lets the controllers impersonate it, and no token is needed.
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

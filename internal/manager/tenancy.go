// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"espalier.dev/internal/tenancy"
)

// Tenancy determines whose rights are used for the work in a namespace.
type Tenancy string

const (
	// SharedTenancy uses those of the controllers.
	SharedTenancy Tenancy = "shared"
	// StrictTenancy uses those of a service account of the namespace.
	StrictTenancy Tenancy = "strict"
)

func (t *Tenancy) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(
		(*string)(t),
		"tenancy",
		string(*t),
		"whose rights to use in a namespace: shared for those of the controllers,\nstrict for those of the service account that the Context of an object names",
	)
}

func (t Tenancy) validate() error {
	if t == SharedTenancy || t == StrictTenancy {
		return nil
	}
	return fmt.Errorf("--tenancy is %q: use %s or %s", string(t), SharedTenancy, StrictTenancy)
}

// strictTenancy makes the requests of a connection impersonate tenants, and returns nil if tenancy is shared.
func (o *Options) strictTenancy(config *rest.Config) *tenancy.Strict {
	if o.Tenancy != StrictTenancy {
		return nil
	}
	strict := &tenancy.Strict{}
	config.Wrap(strict.Transport)
	return strict
}

// arrange makes a manager work on its shard and, if tenancy is strict, on behalf of the tenants.
func (o *Options) arrange(mgr ctrl.Manager, strict *tenancy.Strict) (ctrl.Manager, error) {
	mgr, err := o.divide(mgr)
	if err != nil || strict == nil {
		return mgr, err
	}
	return mgr, strict.Begin(mgr)
}

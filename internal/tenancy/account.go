// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

const (
	// ServiceAccountKey is the key of a Context's configurations that names the service account for the work of its objects.
	ServiceAccountKey = "espalier.dev/serviceAccountName"
	// DefaultServiceAccount is the service account for objects whose Context names none.
	DefaultServiceAccount = "default"

	// ReasonServiceAccountInvalid is for a Context that does not name a service account of its namespace.
	ReasonServiceAccountInvalid = "ServiceAccountInvalid"
)

// Account is a service account. The zero value is none.
type Account struct{ Namespace, Name string }

// String returns namespace and name, separated by a slash.
func (a Account) String() string { return a.Namespace + "/" + a.Name }

// User returns the user name at the API server.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// Groups returns the groups that the API server assigns.
func (a Account) Groups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"}
}

// accountIn returns the service account that a Context names, which is always in the Context's own namespace.
func accountIn(of *lsv1alpha1.Context, namespace string) (Account, error) {
	account := Account{Namespace: namespace, Name: DefaultServiceAccount}
	named, found := of.Configurations[ServiceAccountKey]
	if !found {
		return account, nil
	}
	if named.Decode(&account.Name) != nil || len(validation.IsDNS1123Subdomain(account.Name)) > 0 {
		return Account{}, failure.NewRetryable(failure.Details{
			Operation: "FindServiceAccount",
			Reason:    ReasonServiceAccountInvalid,
			Codes:     []string{string(lsv1alpha1.ErrorConfigurationProblem)},
		}, fmt.Errorf("configurations[%q] of Context %s/%s must be the name of a service account in the namespace %s, without the "+
			"namespace: fix it; the controllers retry with backoff", ServiceAccountKey, namespace, of.Name, namespace))
	}
	return account, nil
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
)

// VerificationPolicy determines for which installations the signatures of components are checked. The values are those of earlier
// controllers' configurations.
type VerificationPolicy string

const (
	// VerifyIfAsked checks the signatures that installations require in spec.verification.
	VerifyIfAsked VerificationPolicy = "DoNotEnforce"
	// VerifyAlways also fails the jobs of installations that do not request a check.
	VerifyAlways VerificationPolicy = "Enforce"
	// VerifyNever checks nothing, regardless of what installations require.
	VerifyNever VerificationPolicy = "Disabled"
)

// VerificationPolicies are all policies.
var VerificationPolicies = []VerificationPolicy{VerifyIfAsked, VerifyAlways, VerifyNever}

// Wants returns the signature to check; nil if there is none.
func (p VerificationPolicy) Wants(inst *lsv1alpha1.Installation) *lsv1alpha1.Verification {
	if p == VerifyNever {
		return nil
	}
	return inst.Spec.Verification
}

// verify checks the signature that an installation requires, or must require.
func (c *Catalog) verify(ctx context.Context, r *Request, set *component.Set) error {
	verification := r.Policy.Wants(r.Installation)
	switch {
	case verification == nil && r.Policy == VerifyAlways:
		return Invalid(ReasonNotVerified, errors.New("spec.verification is missing, but this controller requires signatures: "+
			"set spec.verification.signatureName, and the key in verificationSignatures of the Context"))
	case verification == nil:
		return nil
	case set == nil:
		return Invalid(ReasonNotVerified, errors.New("spec.verification: the installation has no component, so there is no signature to check: "+
			"set spec.componentDescriptor, or remove spec.verification"))
	case r.Installation.Spec.Blueprint.Reference == nil && !r.Vouched:
		return Invalid(ReasonNotVerified, errors.New("spec.verification: the blueprint is not a resource of the component, so it is not signed: "+
			"set it in spec.blueprint.ref, or remove spec.verification"))
	case r.Repository.Signatures == nil:
		return Invalid(ReasonNotVerified, errors.New("spec.verification: signatures of components cannot be checked here; "+
			"remove the field to continue without a check"))
	}
	return at("spec.verification", r.Repository.Signatures.Verify(ctx, set, verification.SignatureName, r.Trust))
}

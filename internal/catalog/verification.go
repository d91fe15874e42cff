// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
)

// VerificationPolicy says of which installations the signatures of components are checked. The words are those that the configurations of
// earlier controllers use.
type VerificationPolicy string

const (
	// VerifyIfAsked checks the signatures that installations ask for in spec.verification.
	VerifyIfAsked VerificationPolicy = "DoNotEnforce"
	// VerifyAlways ends the jobs of installations that do not ask for a check, too.
	VerifyAlways VerificationPolicy = "Enforce"
	// VerifyNever checks nothing, whatever installations ask for.
	VerifyNever VerificationPolicy = "Disabled"
)

// VerificationPolicies are all there are.
var VerificationPolicies = []VerificationPolicy{VerifyIfAsked, VerifyAlways, VerifyNever}

// Wants returns the signature that is to be checked; nil if none is.
func (p VerificationPolicy) Wants(inst *lsv1alpha1.Installation) *lsv1alpha1.Verification {
	if p == VerifyNever {
		return nil
	}
	return inst.Spec.Verification
}

// verify checks the signature that an installation asks for, or has to ask for.
func (c *Catalog) verify(ctx context.Context, r *Request, set *component.Set) error {
	verification := r.Policy.Wants(r.Installation)
	switch {
	case verification == nil && r.Policy == VerifyAlways:
		return Invalid(ReasonNotVerified, errors.New("spec.verification is missing: here nothing is installed without a check of its signature: "+
			"set spec.verification.signatureName, and the key in verificationSignatures of the Context"))
	case verification == nil:
		return nil
	case set == nil:
		return Invalid(ReasonNotVerified, errors.New("spec.verification: the installation names no component whose signature could be checked: "+
			"set spec.componentDescriptor, or remove spec.verification"))
	case r.Installation.Spec.Blueprint.Reference == nil && !r.Vouched:
		return Invalid(ReasonNotVerified, errors.New("spec.verification: the blueprint is no resource of the component, so nobody has signed it: "+
			"name it in spec.blueprint.ref, or remove spec.verification"))
	case r.Repository.Signatures == nil:
		return Invalid(ReasonNotVerified, errors.New("spec.verification: signatures of components cannot be checked here; "+
			"remove the field to go on without a check"))
	}
	return at("spec.verification", r.Repository.Signatures.Verify(ctx, set, verification.SignatureName, r.Trust))
}

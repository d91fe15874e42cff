// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcequota knows the answer of an API server that has no room for an object because of a ResourceQuota.
package resourcequota

import (
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// exceeded is how the API server puts it. All of it are names and numbers. It has no reason of its own that could be asked for instead.
var exceeded = regexp.MustCompile(
	`exceeded quota: ([a-z0-9.-]{1,253}), requested: ([a-zA-Z0-9=,./-]+), used: ([a-zA-Z0-9=,./-]+), limited: ([a-zA-Z0-9=,./-]+)$`,
)

// Refused makes a wait of the answer that an object would exceed a ResourceQuota: there may be room later, when somebody has deleted
// something or has raised the quota. Nobody tells of that, so the write is tried again in growing intervals.
func Refused(err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return err
	}
	found := exceeded.FindStringSubmatch(status.Status().Message)
	if found == nil {
		return err
	}
	return &failure.Wait{Reason: lsv1alpha1.ReasonWaitingForQuota, For: fmt.Sprintf(
		"room in ResourceQuota %s, which permits %s, of which %s is used and %s was requested: delete what is no longer needed, or ask a "+
			"cluster administrator to raise it", found[1], found[4], found[3], found[2])}
}

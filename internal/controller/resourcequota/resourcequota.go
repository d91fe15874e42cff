// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcequota detects errors of an API server that rejects an object because of a ResourceQuota.
package resourcequota

import (
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// exceeded matches the API server's message, which contains only names and numbers. The error has no distinct reason to test instead.
var exceeded = regexp.MustCompile(
	`exceeded quota: ([a-z0-9.-]{1,253}), requested: ([a-zA-Z0-9=,./-]+), used: ([a-zA-Z0-9=,./-]+), limited: ([a-zA-Z0-9=,./-]+)$`,
)

// Refused turns the error that an object exceeds a ResourceQuota into a wait: another client may delete objects or raise the quota. No
// event reports that, so the write is retried with backoff.
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
		"room in ResourceQuota %s (limit %s, used %s, requested %s): delete what is no longer needed, or ask a "+
			"cluster administrator to raise it", found[1], found[4], found[3], found[2])}
}

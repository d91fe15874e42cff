// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// EventuallyFinished waits until an Installation, Execution or DeployItem has finished the last requested job, in the given phase.
func EventuallyFinished[T client.Object](t testing.TB, server *APIServer, object T, phase landscaper.Phase, options ...WaitOption) T {
	t.Helper()
	return Eventually(t, server, object, func(current T) error { return finishedIn(current, phase) }, options...)
}

func finishedIn(object client.Object, phase landscaper.Phase) error {
	status, err := runStatusOf(object)
	if err != nil {
		return err
	}
	job := run.JobOf(status)
	request := run.Request{
		Asked:     object.GetAnnotations()[landscaper.OperationAnnotation] == string(landscaper.OperationReconcile),
		GrantedID: run.ParseGrant(object.GetAnnotations()[run.GrantAnnotation], string(object.GetUID())),
	}
	switch {
	case job.Running():
		return fmt.Errorf("job %s is still running, in phase %q", job.ID, status.Phase)
	case job.ID == "" || job.Open(request) != run.OpenNot:
		return fmt.Errorf("the job that was asked for has not begun")
	case status.Phase != phase:
		return fmt.Errorf("job %s has finished in phase %q, not %q", job.ID, status.Phase, phase)
	default:
		return nil
	}
}

func runStatusOf(object client.Object) (*landscaper.RunStatus, error) {
	switch typed := object.(type) {
	case *landscaper.Installation:
		return &typed.Status.RunStatus, nil
	case *landscaper.Execution:
		return &typed.Status.RunStatus, nil
	case *landscaper.DeployItem:
		return &typed.Status.RunStatus, nil
	default:
		return nil, fmt.Errorf("a %T has no jobs", object)
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
)

// Explain turns an error of the API server, or of the way to it, into one that tells the user what to do. What was
// attempted is a phrase such as "read installation shop".
func (a *Access) Explain(err error, attempted, namespace string) error {
	if err == nil {
		return nil
	}
	var known *cli.Problem
	if errors.As(err, &known) {
		return err
	}
	problem := &cli.Problem{Code: cli.ExitError, What: fmt.Sprintf("cannot %s: %v", attempted, err), Where: a.Where(namespace), Cause: err}
	switch {
	case errors.Is(err, context.Canceled):
		problem.Code, problem.What = cli.ExitDetached, fmt.Sprintf("cannot %s: interrupted", attempted)
	case isKindMissing(err):
		problem.Code = cli.ExitNotFound
		problem.What = fmt.Sprintf("cannot %s: the cluster does not know this kind of object, so Espalier is not installed there", attempted)
		problem.Next = []string{a.SuggestKubectl(namespace, "api-resources", "--api-group="+missingGroup(err))}
	case apierrors.IsNotFound(err):
		problem.Code = cli.ExitNotFound
		problem.What = fmt.Sprintf("cannot %s: it does not exist", attempted)
		problem.Next = []string{a.Suggest(namespace, "get")}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		problem.Code = cli.ExitNotFound
		problem.Next = []string{a.SuggestKubectl(namespace, "auth", "can-i", "--list")}
	case isUnreachable(err):
		problem.What = fmt.Sprintf("cannot %s: the API server does not answer: %v", attempted, rootOf(err))
		problem.Next = []string{"check the cluster, or name another with --context or --kubeconfig"}
	}
	return problem
}

// isKindMissing tells a resource that is not served from an object that does not exist: only the latter has a name.
func isKindMissing(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// missingGroup is the API group that is not served.
func missingGroup(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Group != "" {
		return status.Status().Details.Group
	}
	return lsv1alpha1.GroupName
}

func isUnreachable(err error) bool {
	var network net.Error
	var address *url.Error
	return errors.As(err, &network) || errors.As(err, &address)
}

// rootOf spares the user the request; what went wrong on the way is at the end of the chain.
func rootOf(err error) error {
	var address *url.Error
	if errors.As(err, &address) {
		return address.Err
	}
	return err
}

func noConfiguration(err error) error {
	problem := &cli.Problem{
		Code: cli.ExitError, What: "cannot find out which cluster is meant: " + err.Error(), Cause: err,
		Next: []string{"name a kubeconfig with --kubeconfig or KUBECONFIG, or start a control plane on this machine: espalier up"},
	}
	if clientcmd.IsEmptyConfig(err) {
		problem.What = "no kubeconfig found"
	}
	return problem
}

// Where names the place of an object: its namespace and the server.
func (a *Access) Where(namespace string) string {
	text := "all namespaces"
	if namespace != "" {
		text = "namespace " + namespace
	}
	if config, err := a.flags.ToRESTConfig(); err == nil {
		text += " at " + config.Host
	}
	return text
}

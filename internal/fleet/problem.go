// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/target"
	"espalier.dev/internal/tenancy"
)

// Texts of problems do not change while the problem lasts: they appear in the status of pipelines, which must not change without a cause.
// So they contain neither times nor ports nor numbers of attempts.

func starting(cluster ClusterKey) Problem {
	return Problem{Reason: ReasonStarting, Message: fmt.Sprintf("connecting to %s", cluster)}
}

func applicationMissing(application Application) Problem {
	return Problem{
		Reason:  ReasonNotFound,
		Message: fmt.Sprintf("%s not found: create it, or correct the namespace of the target", application),
	}
}

func namespaceMissing(application Application) Problem {
	return Problem{
		Reason:  ReasonNamespaceNotFound,
		Message: fmt.Sprintf("%s not found: namespace %s does not exist", application, application.Namespace),
	}
}

func kindMissing(key feedKey) Problem {
	return Problem{
		Reason: ReasonKindNotServed,
		Message: fmt.Sprintf(
			"%s does not serve the kind %s of %s: install its custom resource definition there, or correct spec.appRef",
			key.cluster,
			key.gvk.Kind,
			key.gvk.GroupVersion(),
		),
	}
}

// followProblem describes why a kind cannot be listed and watched.
func followProblem(key feedKey, err error) Problem {
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err):
		return kindMissing(key)
	case errors.Is(err, errNoNamespaces):
		return Problem{
			Reason:  ReasonReadFailed,
			Message: fmt.Sprintf("kind %s of %s is cluster-scoped: applications must be namespaced", key.gvk.Kind, key.gvk.GroupVersion()),
		}
	case apierrors.IsForbidden(err):
		return Problem{
			Reason: ReasonForbidden,
			Message: shorten(
				fmt.Sprintf(
					"%s does not permit listing and watching kind %s: grant both to the user of the kubeconfig, in all namespaces or in %s: %v",
					key.cluster,
					key.gvk.Kind,
					key.namespace,
					statusOf(err),
				),
			),
		}
	}
	return clusterProblem(key.cluster, err)
}

// clusterProblem describes why a cluster cannot be used.
func clusterProblem(cluster ClusterKey, err error) Problem {
	var told *refusal
	var unreachable *target.Unreachable
	var missing *tenancy.Missing
	switch {
	case errors.As(err, &told):
		return told.problem
	case errors.As(err, &missing):
		return Problem{Reason: ReasonReadFailed, Message: fmt.Sprintf("%s cannot be read: %v", cluster, err)}
	case apierrors.IsUnauthorized(err):
		return Problem{
			Reason:  ReasonUnauthorized,
			Message: fmt.Sprintf("%s rejects the credential of its kubeconfig: renew it", cluster),
		}
	case reasonOf(err) != "":
		return Problem{Reason: reasonOf(err), Message: shorten(fmt.Sprintf("cannot connect to %s: %v", cluster, err))}
	case errors.As(err, &unreachable):
		return Problem{
			Reason:  ReasonUnreachable,
			Message: fmt.Sprintf("%s does not answer at %s: %s", cluster, unreachable.Server, networkCause(err)),
		}
	case isStatus(err):
		return Problem{Reason: ReasonReadFailed, Message: shorten(fmt.Sprintf("%s cannot be read: %v", cluster, statusOf(err)))}
	}
	return Problem{Reason: ReasonUnreachable, Message: fmt.Sprintf("%s cannot be read: %s", cluster, networkCause(err))}
}

// reasonOf maps the reasons of package target for kubeconfigs.
func reasonOf(err error) Reason {
	switch failure.DetailsOf(err).Reason {
	case target.ReasonInvalid, target.ReasonRefusedAddress:
		return ReasonKubeconfigInvalid
	case target.ReasonSecretMissing:
		return ReasonKubeconfigMissing
	case target.ReasonTokenRefused:
		return ReasonUnauthorized
	}
	if dial.IsRefusal(err) {
		return ReasonKubeconfigInvalid
	}
	return ""
}

func isStatus(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// statusOf returns the part of an error that comes from an API server.
func statusOf(err error) error {
	status := &apierrors.StatusError{}
	if errors.As(err, &status) {
		err = status
	}
	return errors.New(masking.Words(err))
}

// networkCause returns the cause of a connection failure, without details that vary between attempts.
func networkCause(err error) string {
	var number syscall.Errno
	var name *net.DNSError
	var timeout net.Error
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.Is(err, errEndedAtOnce), errors.Is(err, errStreamFailed):
		return "watches end at once"
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s cannot be resolved", name.Name)
	case errors.As(err, &invalid), errors.As(err, &authority):
		return "its certificate is not valid, or not signed by the authority in the kubeconfig"
	case errors.As(err, &host):
		return "its certificate is for another name"
	case errors.As(err, &number):
		return number.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "the connection was closed"
	}
	return "the connection failed"
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/helm/render"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/masking"
)

// Reasons of errors. Users already know those of releases.
const (
	ReasonInstall   = "installRelease"
	ReasonUpgrade   = "upgradeRelease"
	ReasonUninstall = "uninstallRelease"
	ReasonTest      = "testRelease"
	ReasonRender    = "RenderChart"
)

// attempt describes a failed operation on a release.
type attempt struct {
	// reason is one of those above; doing is what was attempted, in a few words.
	reason string
	doing  string
	// made is the unfinished revision; nil if there is none yet.
	made *release.Release
}

// failed returns an error with Helm's message. Helm quotes templates, values and objects, so the values of the item are
// masked. An operation that ended because of the item's deadline or an interrupt can be repeated.
func (p *pass) failed(ctx context.Context, t attempt, err error) error {
	if err == nil {
		return nil
	}
	codes, terminal := p.classify(err)
	text := t.doing
	if hook := failedHook(t.made); hook != "" {
		text += ": " + hook + " failed"
	}
	if ended := context.Cause(ctx); ended != nil {
		terminal = false
		if errors.Is(ended, context.DeadlineExceeded) {
			codes = append(codes, string(lsv1alpha1.ErrorTimeout))
		}
		text += ": " + words(ended)
	}
	text += ": " + p.secrets().Text(masking.Words(err))
	details := failure.Details{Operation: "Helm", Reason: t.reason, Codes: codes}
	// An unreachable target matters more than the operation.
	if inner := failure.DetailsOf(err).Reason; strings.HasPrefix(inner, targetReasons) {
		details.Reason = inner
	}
	told := &concealed{text: text, cause: err}
	if terminal {
		return failure.NewTerminal(details, told)
	}
	return failure.NewRetryable(details, told)
}

// classify classifies an error: the codes for the status, and whether a retry is useless. The result of a template depends on
// the target only if the template calls lookup.
func (p *pass) classify(err error) (codes []string, terminal bool) {
	unrenderable := p.chart != nil && !p.chart.Looks() && isTemplateError(err)
	if unrenderable || errors.Is(err, render.ErrSchema) || errors.Is(err, render.ErrIncompatible) {
		return []string{string(lsv1alpha1.ErrorConfigurationProblem)}, true
	}
	return cluster.Classify(err)
}

// templateErrors are the phrases with which Helm reports a template that cannot be parsed or executed, or whose result is
// not YAML.
var templateErrors = []string{"execution error at (", "parse error at (", "YAML parse error on "}

func isTemplateError(err error) bool {
	return slices.ContainsFunc(templateErrors, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// targetReasons is the prefix of the reasons of errors that concern the connection to a target.
const targetReasons = "Target"

func words(ended error) string {
	if errors.Is(ended, context.DeadlineExceeded) {
		return "timed out"
	}
	return "interrupted"
}

// concealed keeps the original error for errors.Is and As, and never prints it.
type concealed struct {
	text  string
	cause error
}

func (c *concealed) Error() string { return c.text }
func (c *concealed) Unwrap() error { return c.cause }

// secrets returns the values of the item, except words that name the release.
func (p *pass) secrets() *masking.Values {
	if p.masked == nil {
		p.masked = p.ownSecrets()
	}
	return p.masked
}

func (p *pass) ownSecrets() *masking.Values {
	values := &masking.Values{}
	addLeaves(values, p.config.values, p.plainWords())
	return values
}

// plainWords returns the words that are never secrets.
func (p *pass) plainWords() map[string]bool {
	plain := map[string]bool{p.config.Name: true, p.config.Namespace: true, "true": true, "false": true}
	if p.chart != nil {
		plain[p.chart.Metadata.Name], plain[p.chart.Metadata.Version] = true, true
	}
	return plain
}

// shortestSecret is the minimum length of a value that counts as a secret.
const shortestSecret = 4

func addLeaves(values *masking.Values, value any, plain map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			addLeaves(values, inner, plain)
		}
	case []any:
		for _, inner := range value {
			addLeaves(values, inner, plain)
		}
	case string:
		if len(value) >= shortestSecret && !plain[value] {
			values.AddText(value)
		}
	case float64:
		if text := fmt.Sprint(value); len(text) >= shortestSecret {
			values.AddText(text)
		}
	}
}

// asTerminal turns an error into one that ends the job.
func asTerminal(err error) error {
	details := failure.DetailsOf(err)
	if len(details.Codes) == 0 {
		details.Codes = []string{string(lsv1alpha1.ErrorConfigurationProblem)}
	}
	return failure.NewTerminal(details, err)
}

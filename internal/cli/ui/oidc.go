// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"espalier.dev/internal/web/oidc"
)

// oidcFlags choose the identity provider that people log in with.
type oidcFlags struct {
	set                *pflag.FlagSet
	options            oidc.Options
	secretFile, caFile string
}

func (o *oidcFlags) add(flags *pflag.FlagSet) {
	o.set = flags
	flags.StringVar(&o.options.Issuer, "oidc-issuer", "", "address of the OpenID Connect provider to log in with, as in its tokens (default: tokens only)")
	flags.StringVar(&o.options.ClientID, "oidc-client-id", "", "name of the web UI at the provider, and audience of its tokens")
	flags.StringVar(&o.secretFile, "oidc-client-secret-file", "", "file with the secret of the client (default: a public client)")
	flags.StringSliceVar(&o.options.Scopes, "oidc-scopes", oidc.DefaultScopes(), "scopes to request from the provider")
	flags.StringVar(&o.caFile, "oidc-ca-file", "", "file with the CA certificates for the provider (default: those of the system)")
	flags.StringVar(&o.options.Name, "oidc-name", "", "name of the provider on the login page")
}

// chosen reads the files, checks everything, and returns nil if there is no provider.
func (o *oidcFlags) chosen() (*oidc.Options, error) {
	wanted := false
	o.set.Visit(func(flag *pflag.Flag) { wanted = wanted || strings.HasPrefix(flag.Name, "oidc-") })
	if !wanted {
		return nil, nil
	}
	var err error
	if o.secretFile != "" {
		if o.options.ClientSecret, err = o.secret(); err != nil {
			return nil, err
		}
	}
	if o.caFile != "" {
		if o.options.CA, err = os.ReadFile(o.caFile); err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		if len(o.options.CA) == 0 {
			return nil, fmt.Errorf("--oidc-ca-file: %s is empty", o.caFile)
		}
	}
	return &o.options, o.options.Check()
}

func (o *oidcFlags) secret() (string, error) {
	content, err := os.ReadFile(o.secretFile)
	if err != nil {
		return "", fmt.Errorf("--oidc-client-secret-file: %w", err)
	}
	if content = bytes.TrimSpace(content); len(content) == 0 {
		return "", fmt.Errorf("--oidc-client-secret-file: %s is empty: leave out the flag if the client has no secret", o.secretFile)
	}
	return string(content), nil
}

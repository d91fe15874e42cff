// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/registry"
	"espalier.dev/internal/component/signature"
)

type verifyOptions struct {
	signature, publicKey, ca string
}

func newVerify(env cli.Environment) *cobra.Command {
	var access *registry.Access
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:   "verify REPOSITORY//COMPONENT:VERSION",
		Short: "Verify a signature of a component",
		Long: `Verify a signature of a component, like an installation with spec.verification. The
command reads all content and recomputes the digests of all resources and of everything
that the component refers to. An invalid signature is an error.

` + registry.FlagsHelp,
		Example: "  espalier component verify " + placeExample + " --signature release --public-key key.pem",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			trust, err := opts.trust()
			if err != nil {
				return err
			}
			return with(cmd.Context(), access, args[0], func(ctx context.Context, f found) error {
				if err := f.repositories.Verify(ctx, f.set, opts.signature, trust); err != nil {
					return err
				}
				text := fmt.Sprintf("signature %s of component %s is valid", opts.signature, f.set.Root().ID())
				return display.To(env, env.Out).Lines(display.Clean(text))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.signature, "signature", "", "name of the signature")
	flags.StringVar(&opts.publicKey, "public-key", "", "PEM file with the trusted RSA key")
	flags.StringVar(&opts.ca, "ca", "", "PEM file with trusted CA certificates")
	access = registry.AddFlags(env, flags)
	return cmd
}

func (o verifyOptions) trust() (trust signature.Trust, err error) {
	if o.signature == "" {
		return trust, errors.New("--signature is missing: name the signature to check")
	}
	if o.publicKey == "" && o.ca == "" {
		return trust, errors.New("no trusted key: set --public-key or --ca")
	}
	if o.publicKey != "" {
		if trust.PublicKey, err = os.ReadFile(o.publicKey); err != nil {
			return trust, fmt.Errorf("--public-key: %w", err)
		}
	}
	if o.ca != "" {
		if trust.CA, err = os.ReadFile(o.ca); err != nil {
			return trust, fmt.Errorf("--ca: %w", err)
		}
	}
	return trust, nil
}

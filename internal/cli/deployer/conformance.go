// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

const conformanceHelp = `Check that the running deployer of a type keeps the deployer contract of
docs/deployers.md. The command acts as the controllers do: it creates deploy items in the
namespace, starts their jobs, watches every change of their status, and deletes them
again.

  --config   a spec.config that makes a job succeed
  --stuck    a spec.config that makes a job hang, such as a Deployment with a missing
             image; used to check interrupts and timeouts
  --broken   a spec.config that makes a job fail

A rule is skipped, with a note, if you do not set the file or the key that it needs.`

type options struct {
	access   *connect.Access
	format   *display.FormatFlag
	itemType string
	target   string
	files    files
	exports  []string
	only     []string
	skip     []string
	timeout  time.Duration
}

// files are the paths of configurations.
type files struct{ config, stuck, broken string }

func newConformance(env cli.Environment) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:   "conformance --type TYPE --config FILE",
		Short: "Check that a deployer keeps the deployer contract",
		Long:  conformanceHelp + "\n\nRules:\n" + rulesHelp() + "\n" + connect.FlagsHelp,
		Example: `  espalier deployer conformance --type example.espalier.dev/files --config files.yaml
  espalier deployer conformance --type landscaper.gardener.cloud/helm --target cluster \
    --config chart.yaml --stuck never-ready.yaml --broken no-chart.yaml --export url`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), env, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.itemType, "type", "", "type of the deploy items that the deployer handles")
	flags.StringVar(&opts.target, "target", "", "name of a Target in the namespace, for deployers that need one")
	flags.StringVar(&opts.files.config, "config", "", "file with a configuration that makes a job succeed")
	flags.StringVar(&opts.files.stuck, "stuck", "", "file with a configuration that makes a job hang")
	flags.StringVar(&opts.files.broken, "broken", "", "file with a configuration that makes a job fail")
	flags.StringSliceVar(&opts.exports, "export", nil, "key that a deploy item with --config exports; can be repeated")
	flags.StringSliceVar(&opts.only, "rule", nil, "check only this rule; can be repeated")
	flags.StringSliceVar(&opts.skip, "skip", nil, "skip this rule; can be repeated")
	flags.DurationVar(&opts.timeout, "timeout", time.Minute, "how long to wait for each step of the deployer")
	names := cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp)
	if err := errors.Join(
		cmd.MarkFlagRequired("type"),
		cmd.RegisterFlagCompletionFunc("rule", names),
		cmd.RegisterFlagCompletionFunc("skip", names),
	); err != nil {
		panic(err) // The flags are defined above.
	}
	opts.format = display.AddFormatFlag(cmd, display.FormatTable, display.FormatJSON, display.FormatYAML)
	opts.access = connect.AddFlags(cmd, env)
	connect.CompleteFlag(cmd, "target", opts.access.CompleteTargets())
	return cmd
}

func run(ctx context.Context, env cli.Environment, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	chosen, err := choose(opts.only, opts.skip)
	if err != nil {
		return err
	}
	if opts.timeout <= 0 {
		return fmt.Errorf("--timeout is %s: it must be positive, such as 1m", opts.timeout)
	}
	s, err := newSuite(ctx, opts)
	if err != nil {
		return err
	}
	var results []result
	err = env.Interruptible(ctx, func(ctx context.Context) (err error) {
		results, err = s.try(ctx, chosen)
		return s.explain(err)
	})
	if err != nil {
		return err
	}
	if err := show(env, format, report{Type: s.itemType, Namespace: s.Namespace, Rules: results}); err != nil {
		return err
	}
	return verdict(s.itemType, results)
}

// newSuite reads the files and looks whether the target exists, before anything is created.
func newSuite(ctx context.Context, opts options) (*suite, error) {
	s := &suite{itemType: lsv1alpha1.DeployItemType(opts.itemType), exports: opts.exports, timeout: opts.timeout, tell: opts.access.Tell}
	for flag, into := range map[string]struct {
		path   string
		config **runtime.RawExtension
	}{
		"--config": {opts.files.config, &s.config},
		"--stuck":  {opts.files.stuck, &s.stuck},
		"--broken": {opts.files.broken, &s.broken},
	} {
		config, err := readConfig(flag, into.path)
		if err != nil {
			return nil, err
		}
		*into.config = config
	}
	var err error
	if s.Connection, err = opts.access.Connect(); err != nil {
		return nil, err
	}
	if opts.target != "" {
		s.target = &lsv1alpha1.ObjectReference{Name: opts.target, Namespace: s.Namespace}
		err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: opts.target}, &lsv1alpha1.Target{})
		return s, s.Access.Explain(err, "read target "+opts.target, s.Namespace)
	}
	return s, nil
}

// readConfig reads a spec.config from a file; nothing if there is none.
func readConfig(flag, path string) (*runtime.RawExtension, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("%s: file %s is neither YAML nor JSON: %w", flag, path, err)
	}
	var named struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(raw, &named); err != nil || named.APIVersion == "" || named.Kind == "" {
		return nil, fmt.Errorf("%s: file %s has no apiVersion or no kind: the file must contain the object for spec.config of a deploy item", flag, path)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// choose returns the rules that the flags leave.
func choose(only, skip []string) ([]rule, error) {
	for flag, names := range map[string][]string{"--rule": only, "--skip": skip} {
		for _, name := range names {
			if !slices.Contains(ruleNames(), name) {
				return nil, fmt.Errorf("%s: unknown rule %q; known rules: %s", flag, name, strings.Join(ruleNames(), ", "))
			}
		}
	}
	return slices.DeleteFunc(rules(), func(r rule) bool {
		return slices.Contains(skip, r.name) || len(only) > 0 && !slices.Contains(only, r.name)
	}), nil
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/target"
)

// kubeconfigKey is where the Secret of a Target has its kubeconfig.
const kubeconfigKey = "kubeconfig"

type createOptions struct {
	env     cli.Environment
	access  *connect.Access
	creator *manifest.Creator

	kubeconfig, context string
	self                bool
	account             string
	secret              string
	inline              bool
}

func newCreate(env cli.Environment) *cobra.Command {
	opts := &createOptions{env: env}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a Target from a kubeconfig, or for the cluster that holds it",
		Long: `Create a Target from one context of a kubeconfig, or, with --self, for the cluster
that holds the Target.

The kubeconfig goes into a Secret, which the Target refers to, because more people may
read Targets than Secrets. Only the selected context is copied, with its cluster and its
user. Controllers run no commands and read no files for a Target, so a kubeconfig that
needs either is rejected: use a token or a client certificate.

If the Target or its Secret cannot be created, nothing is. Output masks credentials;
--show-secrets prints them.

` + connect.FlagsHelp,
		Example: `  espalier target create production --from-kubeconfig production.yaml
  espalier target create production --from-kubeconfig ~/.kube/config --from-context production
  kubectl config view --raw --minify --flatten | espalier target create production --from-kubeconfig -
  espalier target create here --self --service-account deployer
  espalier target create production --from-kubeconfig production.yaml --dry-run=client -o yaml --show-secrets`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return opts.run(cmd.Context(), args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveNoFileComp // The name is a new one.
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.kubeconfig, "from-kubeconfig", "", "file with the kubeconfig of the target cluster; - is standard input")
	flags.StringVar(&opts.context, "from-context", "", "context of that kubeconfig (default: its current context)")
	flags.BoolVar(&opts.self, "self", false, "deploy to the cluster that holds the Target, as --service-account")
	flags.StringVar(&opts.account, "service-account", "", "service account in the namespace of the Target, for --self")
	flags.StringVar(&opts.secret, "secret", "", "name of the Secret that gets the kubeconfig (default: NAME-access)")
	flags.BoolVar(&opts.inline, "inline", false, "put the kubeconfig into the Target itself, readable for everyone who may read Targets")
	opts.access = connect.AddFlags(cmd, env)
	opts.creator = manifest.AddFlags(cmd, env, opts.access)
	return cmd
}

func (o *createOptions) run(ctx context.Context, name string) error {
	if err := o.check(name); err != nil {
		return err
	}
	namespace, err := o.access.Namespace()
	if err != nil {
		return err
	}
	made := &lsv1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	made.Spec.Type = lsv1alpha1.TargetTypeKubernetesCluster
	objects := []client.Object{made}
	if o.self {
		err = o.fillSelf(made)
	} else {
		objects, err = o.fillKubeconfig(made)
	}
	if err != nil {
		return err
	}
	if err := o.creator.Do(ctx, objects...); err != nil {
		return err
	}
	if o.creator.Creates() {
		o.access.Tell("Next: %s", o.access.Suggest(namespace, "target", "check", name))
	}
	return nil
}

func (o *createOptions) check(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be the name of a Target: %s", name, strings.Join(problems, "; "))
	}
	switch {
	case o.self && o.kubeconfig != "":
		return errors.New("--self and --from-kubeconfig exclude each other: keep one")
	case !o.self && o.kubeconfig == "":
		return errors.New("the target cluster is missing: set --from-kubeconfig FILE, or --self for the cluster that holds the Target")
	}
	check := o.checkKubeconfig
	if o.self {
		check = o.checkSelf
	}
	if err := check(); err != nil {
		return err
	}
	return o.creator.Check()
}

func (o *createOptions) checkSelf() error {
	switch {
	case o.account == "":
		return errors.New("--self needs --service-account: deployers act with the rights of that service account")
	case o.context != "" || o.secret != "" || o.inline:
		return errors.New("--from-context, --secret and --inline go with --from-kubeconfig; --self needs no credential")
	}
	return nil
}

func (o *createOptions) checkKubeconfig() error {
	switch {
	case o.account != "":
		return errors.New("--service-account goes with --self; a kubeconfig has its own user")
	case o.inline && o.secret != "":
		return errors.New("--inline and --secret exclude each other: keep one")
	}
	return nil
}

func (o *createOptions) fillSelf(made *lsv1alpha1.Target) error {
	return configure(made, lsv1alpha1.KubernetesClusterConfig{
		SelfConfig: &lsv1alpha1.SelfConfig{ServiceAccount: lsv1alpha1.LocalObjectReference{Name: o.account}},
	})
}

// fillKubeconfig lets a Target lead to the cluster of the kubeconfig. What it returns is created in that order: a Target that exists finds
// its Secret.
func (o *createOptions) fillKubeconfig(made *lsv1alpha1.Target) ([]client.Object, error) {
	text, err := o.readKubeconfig(made)
	if err != nil {
		return nil, err
	}
	o.warnOfLoopback(text)
	if o.inline {
		content, err := anyJSON(text)
		if err != nil {
			return nil, err
		}
		return []client.Object{made}, configure(made, lsv1alpha1.KubernetesClusterConfig{Kubeconfig: &content})
	}
	name := o.secret
	if name == "" {
		name = made.Name + "-access"
	}
	made.Spec.SecretRef = &lsv1alpha1.LocalSecretReference{Name: name, Key: kubeconfigKey}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: made.Namespace, Name: name}, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{kubeconfigKey: []byte(text)},
	}
	return []client.Object{secret, made}, nil
}

// readKubeconfig returns the part of the user's kubeconfig that the Target needs.
func (o *createOptions) readKubeconfig(made *lsv1alpha1.Target) (string, error) {
	var raw []byte
	var err error
	if o.kubeconfig == "-" {
		raw, err = io.ReadAll(o.env.In)
	} else {
		raw, err = os.ReadFile(o.kubeconfig)
	}
	if err != nil {
		return "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	given := newGiven(raw, o.context)
	if problem := given.problem(); problem != "" {
		return "", &cli.Problem{
			Code: cli.ExitError, What: problem, Where: o.file(),
			Next: []string{"choose one with --from-context: " + strings.Join(given.contexts, ", ")},
		}
	}
	text, err := target.OneContext(raw, o.context)
	if err != nil {
		return "", &cli.Problem{
			Code: cli.ExitError, What: "cannot create a Target from this kubeconfig: " + err.Error(), Where: o.file(), Cause: err,
			Next: given.advice(o.access.Suggest(made.Namespace, "target", "create", made.Name, "--from-kubeconfig", "-")),
		}
	}
	return text, nil
}

func (o *createOptions) file() string {
	if o.kubeconfig == "-" {
		return "standard input"
	}
	return o.kubeconfig
}

// warnOfLoopback tells of an address that means something else to controllers in a pod.
func (o *createOptions) warnOfLoopback(kubeconfig string) {
	config, err := target.ParseKubeconfig([]byte(kubeconfig))
	if err != nil || o.creator.Offline() || !target.OnLoopback(config) {
		return
	}
	if host, err := o.access.Config(); err == nil && !target.OnLoopback(host) {
		o.access.Tell("warning: the server of this kubeconfig is at a loopback address, to which controllers in a cluster do not connect: " +
			"use the address under which they reach it")
	}
}

func configure(made *lsv1alpha1.Target, config lsv1alpha1.KubernetesClusterConfig) error {
	content, err := anyJSON(config)
	made.Spec.Configuration = &content
	return err
}

func anyJSON(value any) (lsv1alpha1.AnyJSON, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return lsv1alpha1.AnyJSON{}, fmt.Errorf("write the configuration of the Target: %w", err)
	}
	return lsv1alpha1.AnyJSON{Raw: raw}, nil
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package connect connects commands to a cluster in the way of kubectl: the same flags, the same kubeconfig, the same
// default namespace. It also turns refusals of the API server into errors that say what to do, and suggests commands
// that work when they are copied.
package connect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	// Kubeconfigs may ask for these ways to log in, as with any kubectl.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/plain"
)

// Access is how a command reaches the cluster that the user's flags name.
type Access struct {
	env           cli.Environment
	cmd           *cobra.Command
	flags         *genericclioptions.ConfigFlags
	connection    []string // the names of kubectl's flags
	allNamespaces bool
}

// FlagsHelp is the part of a help text that tells of the flags that are not listed.
const FlagsHelp = `The other connection flags of kubectl work as well, such as --user and --token.`

// shownFlags are listed in help texts; the others would bury them.
var shownFlags = []string{"kubeconfig", "context", "namespace", "as"}

// AddFlags gives a command the flags by which kubectl finds its cluster.
func AddFlags(cmd *cobra.Command, env cli.Environment) *Access {
	a := &Access{env: env, cmd: cmd, flags: genericclioptions.NewConfigFlags(true)}
	own := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	a.flags.AddFlags(own)
	own.VisitAll(func(flag *pflag.Flag) {
		a.connection = append(a.connection, flag.Name)
		flag.Hidden = !slices.Contains(shownFlags, flag.Name)
	})
	cmd.Flags().AddFlagSet(own)
	CompleteFlag(cmd, "namespace", a.completeNamespaces)
	CompleteFlag(cmd, "context", a.completeOfKubeconfig)
	return a
}

const allNamespacesFlag = "all-namespaces"

// AddAllNamespaces adds the flag -A.
func (a *Access) AddAllNamespaces() {
	a.cmd.Flags().BoolVarP(&a.allNamespaces, allNamespacesFlag, "A", false, "look into all namespaces")
}

// Tell writes a line about the progress; data goes elsewhere. What could steer a terminal is taken out.
func (a *Access) Tell(format string, args ...any) {
	fmt.Fprintln(a.env.ErrOut, plain.Lines(fmt.Sprintf(format, args...)))
}

// AllNamespaces reports whether the user wants to see all namespaces.
func (a *Access) AllNamespaces() bool { return a.allNamespaces }

// Namespace is the one that the user works in.
func (a *Access) Namespace() (string, error) {
	a.chooseKubeconfig()
	namespace, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", noConfiguration(err)
	}
	return namespace, nil
}

// Config is the connection to the cluster.
func (a *Access) Config() (*rest.Config, error) {
	a.chooseKubeconfig()
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, noConfiguration(err)
	}
	config.QPS = -1 // The API server has its own way to slow down clients.
	config.WarningHandler = rest.NewWarningWriter(a.env.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return config, nil
}

// chooseKubeconfig turns to the control plane of this machine if the user names no cluster. One that has been stopped
// counts, too: an error is better than the wrong cluster.
func (a *Access) chooseKubeconfig() {
	if *a.flags.KubeConfig == "" && a.env.Getenv("KUBECONFIG") == "" {
		*a.flags.KubeConfig = a.env.OwnKubeconfig()
	}
}

// BesideKubeconfig returns the path of a file that is beside the kubeconfig; empty if there is none, or if the kubeconfig does not lead to
// the cluster that the command uses.
func (a *Access) BesideKubeconfig(name string) string {
	config, err := a.Config()
	if err != nil {
		return ""
	}
	kubeconfig := cmp.Or(*a.flags.KubeConfig, a.env.Getenv("KUBECONFIG"))
	known, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(kubeconfig), name)
	for _, cluster := range known.Clusters {
		if _, err := os.Stat(path); err == nil && cluster.Server == config.Host {
			return path
		}
	}
	return ""
}

// Client returns a client for the kinds of this project and those they refer to. It asks the server about nothing but
// the objects themselves.
func (a *Access) Client() (client.WithWatch, error) {
	config, err := a.Config()
	if err != nil {
		return nil, err
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: Mapper()})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return c, nil
}

// Connection is what a command needs to work in one namespace: a client, and the words for errors.
type Connection struct {
	Access    *Access
	Client    client.WithWatch
	Namespace string
}

// Connect connects to the user's cluster and namespace.
func (a *Access) Connect() (Connection, error) {
	namespace, err := a.Namespace()
	if err != nil {
		return Connection{}, err
	}
	c, err := a.Client()
	return Connection{Access: a, Client: c, Namespace: namespace}, err
}

// Scheme knows the kinds that commands read.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		api.AddToScheme, corev1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("assemble the scheme: %w", err)
		}
	}
	return scheme, nil
}

// Mapper knows the resources of those kinds without asking a server.
func Mapper() meta.RESTMapper {
	ours := lsv1alpha1.SchemeGroupVersion
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{ours, corev1.SchemeGroupVersion})
	for _, kind := range []string{"Installation", "Execution", "DeployItem", "DataObject", "Target", "TargetSync", "Context"} {
		mapper.Add(ours.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	overwrites := ours.WithResource("componentversionoverwrites") // The plural is the kind itself.
	mapper.AddSpecific(ours.WithKind("ComponentVersionOverwrites"), overwrites, overwrites, meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(pipelines.SchemeGroupVersion.WithKind("Pipeline"), meta.RESTScopeNamespace)
	mapper.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	mapper.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	return mapper
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// creating is a command that creates objects.
func creating(objects ...client.Object) func(cli.Environment) *cobra.Command {
	return func(env cli.Environment) *cobra.Command {
		cmd := &cobra.Command{Use: "create"}
		access := connect.AddFlags(cmd, env)
		creator := manifest.AddFlags(cmd, env, access)
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return creator.Do(cmd.Context(), objects...) }
		return cmd
	}
}

// Whoever interrupts the command finds all objects, or none.
func TestAnInterruptLeavesNoPart(t *testing.T) {
	for name, test := range map[string]struct {
		// resource and dry are the request during which the command is interrupted.
		resource string
		dry      bool
		code     int
	}{
		"during a dry run": {"secrets", true, cli.ExitDetached},
		"with the first":   {"secrets", false, cli.ExitDetached},
		"with the last":    {"configmaps", false, cli.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			namespace := server.Namespace(t)
			one := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"}}
			two := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "two"}}
			started := make(chan *clitest.Running, 1)
			front := clitest.Front(t, server, func(request *http.Request) *http.Response {
				dry := request.URL.Query().Has("dryRun")
				if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/"+test.resource) || dry != test.dry {
					return nil
				}
				(<-started).Interrupt()
				if dry { // Nobody needs its answer.
					clitest.AwaitAbandoned(request)
				}
				return nil
			})
			running := clitest.Start(t, server, namespace, clitest.Call{Command: creating(one, two), Args: []string{"--kubeconfig=" + front}})
			started <- running
			got := running.Wait(t)
			if got.Code != test.code || strings.Contains(got.Stderr, "error: cannot create ") != (test.code != cli.ExitOK) {
				t.Errorf("%+v", got)
			}
			for _, object := range []client.Object{one, two} {
				err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object)
				if wanted := test.code == cli.ExitOK; wanted && err != nil || !wanted && !apierrors.IsNotFound(err) {
					t.Errorf("%s: %v", object.GetName(), err)
				}
			}
		})
	}
}

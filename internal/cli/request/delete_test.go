// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/traffic"
)

// storeRoot creates an installation that a finalizer keeps.
func storeRoot(t *testing.T, phase lsv1alpha1.Phase) (*testkit.APIServer, *lsv1alpha1.Installation) {
	t.Helper()
	server := testkit.Server(t)
	root := testkit.Installation(server.Namespace(t), "shop").Finalizer(lsv1alpha1.Finalizer).Build()
	root.Status.RunStatus = clitest.Status(phase)
	clitest.Store(t, server, root)
	return server, root
}

func deletion(args ...string) clitest.Call {
	return clitest.Call{Command: request.NewDelete, Args: args}
}

// release lets an installation go, as its controller does at the end.
func release(t *testing.T, server *testkit.APIServer, root *lsv1alpha1.Installation) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := server.Client().Patch(t.Context(), root.DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
}

func currentRoot(t *testing.T, server *testkit.APIServer, root *lsv1alpha1.Installation) *lsv1alpha1.Installation {
	t.Helper()
	got := &lsv1alpha1.Installation{}
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(root), got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestDelete(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
	got := clitest.Run(t, server, root.Namespace, deletion("shop"))
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stdout: "installation shop is being deleted\n"}, got); diff != "" {
		t.Error(diff)
	}
	object := currentRoot(t, server, root)
	if object.DeletionTimestamp.IsZero() || object.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] != "" {
		t.Errorf("%+v", object.ObjectMeta)
	}
	got = clitest.Run(t, server, root.Namespace, deletion("shop", "--without-uninstall"))
	if got.Code != cli.ExitOK || got.Stdout != "installation shop is already being deleted\n" {
		t.Errorf("%+v", got)
	}
	if currentRoot(t, server, root).Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] != "true" {
		t.Error("it does not say that nothing is to be uninstalled")
	}
}

func TestDeleteWaitsUntilItIsGone(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
	command := clitest.Start(t, server, root.Namespace, deletion("shop", "--wait", "--without-uninstall"))
	command.Until(t, "Installation/shop is being deleted")
	clitest.Controller{Server: server}.Write(t, root, func(s *lsv1alpha1.RunStatus) {
		*s = clitest.Status(
			lsv1alpha1.PhaseDeleting,
			clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for the deletion of everything below"),
		)
	})
	command.Until(t, "Installation/shop Deleting: waiting for the deletion of everything below")
	release(t, server, root)
	got := command.Wait(t)
	if got.Code != cli.ExitOK || got.Stdout != "installation shop has been deleted\n" ||
		!strings.HasSuffix(got.Stderr, "Installation/shop is gone\n") {
		t.Errorf("%+v", got)
	}
}

func TestDeleteWaitsForADeletionThatFails(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
	command := clitest.Start(t, server, root.Namespace, deletion("shop", "--wait"))
	command.Until(t, "Installation/shop is being deleted")
	clitest.Controller{Server: server}.Write(t, root, func(s *lsv1alpha1.RunStatus) {
		*s = clitest.Status(lsv1alpha1.PhaseDeleteFailed, clitest.Error("SubObjectFailed", "execution shop is in phase DeleteFailed"))
	})
	got := command.Wait(t)
	if got.Code != cli.ExitFailed ||
		!strings.Contains(got.Stderr, "installation shop could not be deleted: execution shop is in phase DeleteFailed") ||
		!strings.HasSuffix(got.Stderr, "\n  see:   docs/reference/errors.md#subobjectfailed\n") {
		t.Errorf("%+v", got)
	}
}

// Deleting again what could not be deleted asks for a new job, and waits for that one.
func TestDeleteAgain(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseDeleteFailed)
	if err := server.Client().Delete(t.Context(), root.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	command := clitest.Start(t, server, root.Namespace, deletion("shop", "--wait"))
	command.Until(t, "Installation/shop has a failed deletion; retrying")
	clitest.Controller{Server: server}.Grant(t, root, "next")
	release(t, server, root)
	if got := command.Wait(t); got.Code != cli.ExitOK || got.Stdout != "installation shop has been deleted\n" {
		t.Errorf("%+v", got)
	}
}

// What could not be deleted goes on by itself when what was deployed is to stay; the failure of before does not count.
func TestJOB46_GiveUpWhatCouldNotBeDeleted(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseDeleteFailed)
	if err := server.Client().Delete(t.Context(), root.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	command := clitest.Start(t, server, root.Namespace, deletion("shop", "--wait", "--without-uninstall"))
	command.Until(t, "Installation/shop has a failed deletion; now deleted without uninstalling")
	if marked := currentRoot(t, server, root); marked.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] != "true" ||
		marked.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		t.Errorf("annotations %v", marked.Annotations)
	}
	clitest.Controller{Server: server}.Write(t, root, func(s *lsv1alpha1.RunStatus) {
		s.Phase, s.JobID = lsv1alpha1.PhaseDeleting, "next"
	})
	release(t, server, root)
	if got := command.Wait(t); got.Code != cli.ExitOK || got.Stdout != "installation shop has been deleted\n" {
		t.Errorf("%+v", got)
	}
}

func TestRefusedDeletions(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"force that does not wait": {[]string{"shop", "--force", "-y", "--wait=false"}, cli.ExitError, "--force always waits: omit --wait=false"},
		"force that uninstalls": {
			[]string{"shop", "--force", "-y", "--without-uninstall=false"}, cli.ExitError, "--force uninstalls nothing: omit --without-uninstall=false",
		},
		"confirmed for nothing": {[]string{"shop", "-y"}, cli.ExitError, "--yes only goes with --force"},
		"nested":                {[]string{"shop-web", "--without-uninstall"}, cli.ExitError, "next:  espalier delete shop --without-uninstall"},
		"absent":                {[]string{"nope"}, cli.ExitNotFound, "it does not exist"},
		"forbidden":             {[]string{"shop", "--as=nobody"}, cli.ExitNotFound, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, deletion(test.args...))
			if got.Code != test.code || got.Stdout != "" || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What was started before an error is reported. Nobody waits for it, but the user learns how.
func TestPartlyRefusedRequests(t *testing.T) {
	const patch, hint = http.MethodPatch, "Not waiting, because of the error below. To wait:\n  espalier wait shop --for="
	for name, test := range map[string]struct {
		command      command
		method       string
		args         []string
		stdout, hint string
	}{
		"delete":            {request.NewDelete, http.MethodDelete, nil, "installation shop is being deleted\n", ""},
		"delete and wait":   {request.NewDelete, http.MethodDelete, []string{"--wait"}, "installation shop is being deleted\n", hint + "deleted"},
		"delete by force":   {request.NewDelete, http.MethodDelete, []string{"--force", "-y"}, "installation shop is being deleted\n", hint + "deleted"},
		"reconcile":         {request.NewReconcile, patch, []string{"-o", "json"}, `"name": "shop"`, ""},
		"reconcile by name": {request.NewReconcile, patch, []string{"-o", "name", "--wait"}, "installation.landscaper.gardener.cloud/shop\n", hint + "succeeded"},
		"interrupt":         {request.NewInterrupt, patch, nil, "installation shop is interrupted\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			namespace := server.Namespace(t)
			for _, name := range []string{"shop", "blog"} {
				root := testkit.Installation(namespace, name).Finalizer(lsv1alpha1.Finalizer).Build()
				root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
				clitest.Store(t, server, root)
			}
			front := newFront(t, server, test.method, "/installations/blog", func(request *http.Request) *http.Response {
				return traffic.Refusal(request, http.StatusForbidden, metav1.StatusReasonForbidden)
			})
			args := append([]string{"shop", "blog", "--kubeconfig=" + front}, test.args...)
			got := clitest.Run(t, server, namespace, clitest.Call{Command: test.command, Args: args})
			if got.Code != cli.ExitNotFound || !strings.Contains(got.Stdout, test.stdout) || strings.Contains(got.Stdout, "blog") {
				t.Errorf("%+v", got)
			}
			if !strings.Contains(got.Stderr, "installation blog: no") || !strings.Contains(got.Stderr, test.hint) ||
				strings.Contains(got.Stderr, "Not waiting") != (test.hint != "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The marks of a deletion that Ctrl-C ends would apply to the next one.
func TestAnInterruptedDeletionTakesItsMarksBack(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
	started := make(chan *clitest.Running, 1)
	deletions := 0
	front := clitest.Front(t, server, func(request *http.Request) *http.Response {
		if request.Method != http.MethodDelete {
			return nil
		}
		if deletions++; deletions == 1 { // A dry run comes first.
			return nil
		}
		(<-started).Interrupt()
		clitest.AwaitAbandoned(request)
		return traffic.Refusal(request, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	})
	running := clitest.Start(t, server, root.Namespace, deletion("shop", "--without-uninstall", "--kubeconfig="+front))
	started <- running
	got := running.Wait(t)
	if got.Code != cli.ExitDetached || got.Stdout != "" || !strings.Contains(got.Stderr, "error: cannot delete installation shop: interrupted\n") {
		t.Errorf("%+v", got)
	}
	if object := currentRoot(t, server, root); !object.DeletionTimestamp.IsZero() || len(object.Annotations) > 0 {
		t.Errorf("%+v", object.ObjectMeta)
	}
}

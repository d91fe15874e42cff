// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"espalier.dev/cmd/espalier/internal/kubeversion"
)

// patience is how long a test waits for what must happen. It ends only tests that fail.
const patience = 6 * time.Minute

func start(t *testing.T, opts Options) *ControlPlane {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cp, err := Start(ctx, opts)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { stop(t, cp) })
	return cp
}

func stop(t *testing.T, cp *ControlPlane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := cp.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually polls a condition that offers no watch.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// temporaryFiles redirects temporary files to a folder of the test and returns it. The
// name is short because etcd's socket lies in it.
func temporaryFiles(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

func TestEphemeral(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "sub", "kubeconfig")
	temp := temporaryFiles(t)
	// Some goroutines of Kubernetes belong to the process rather than to a server, so they are counted after a first server has stopped.
	warmUp := start(t, Options{})
	stop(t, warmUp)
	before := runtime.NumGoroutine()

	var log bytes.Buffer
	cp := start(t, Options{Kubeconfig: kubeconfig, ClusterControllers: true, History: time.Second, Log: &log})
	client := clientFor(t, cp.RESTConfig())

	t.Run("reports the Kubernetes version", func(t *testing.T) {
		version, err := client.Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		if got := version.GitVersion + " " + version.Major + "." + version.Minor; got != kubeversion.Version+" 1.37" {
			t.Errorf("version is %s", got)
		}
	})
	t.Run("writes a kubeconfig for the owner only", func(t *testing.T) { checkKubeconfig(t, kubeconfig) })
	t.Run("keeps all files to the owner", func(t *testing.T) { checkPrivate(t, cp.DataDir()) })
	t.Run("listens on loopback only", func(t *testing.T) {
		host, _, err := net.SplitHostPort(strings.TrimPrefix(cp.URL(), "https://"))
		if err != nil || !net.ParseIP(host).IsLoopback() {
			t.Errorf("the server is at %s", cp.URL())
		}
	})
	t.Run("knows nobody without credentials", func(t *testing.T) { checkAnonymous(t, cp.RESTConfig()) })
	t.Run("issues service account tokens", func(t *testing.T) { checkTokens(t, cp.RESTConfig()) })
	t.Run("accepts pods without a service account", func(t *testing.T) { checkPod(t, client) })
	t.Run("drops old versions of objects", func(t *testing.T) {
		eventually(t, "etcd is compacted", func(context.Context) (bool, error) { return cp.etcd.etcd.Server.KV().FirstRev() > 1, nil })
	})
	t.Run("logs to the given writer", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(cp.DataDir(), logFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a log file although a writer was given: %v", err)
		}
	})

	stop(t, cp)
	if log.Len() == 0 {
		t.Error("nothing was logged")
	}
	if left := entries(t, temp); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if _, err := os.Stat(kubeconfig); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the kubeconfig of a server that is gone is still there: %v", err)
	}
	listener, err := listenOn(cp.access.port())
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	listener.Close()
	eventually(t, "goroutines end", func(context.Context) (bool, error) {
		// A server has thousands; the margin is for what Kubernetes leaks per server.
		return runtime.NumGoroutine() <= before+100, nil
	})
	select {
	case <-cp.Done():
	default:
		t.Error("Done is open after Stop")
	}
	if err := cp.Err(); err != nil {
		t.Errorf("Err after Stop: %v", err)
	}
}

func checkKubeconfig(t *testing.T, path string) {
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v", info.Mode())
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientFor(t, config).CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the kubeconfig does not make an administrator: %v", err)
	}
}

// checkPrivate relies on a socket's folder, not on the socket's own mode, which some
// systems ignore.
func checkPrivate(t *testing.T, dir string) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.Type()&fs.ModeSocket == 0 && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkAnonymous(t *testing.T, admin *rest.Config) {
	client := clientFor(t, rest.AnonymousClientConfig(admin))
	if _, err := client.Discovery().ServerVersion(); !apierrors.IsUnauthorized(err) {
		t.Errorf("an anonymous request is answered with: %v", err)
	}
}

func checkTokens(t *testing.T, admin *rest.Config) {
	client := clientFor(t, admin)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := client.CoreV1().
		ServiceAccounts("default").
		CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = request.Status.Token
	robot := clientFor(t, config)
	_, err = robot.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a robot without rights is answered with: %v", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "robot"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "robot"}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the binding takes effect", func(ctx context.Context) (bool, error) {
		_, err := robot.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
}

func checkPod(t *testing.T, client kubernetes.Interface) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func TestRestartKeepsDataAndCredentials(t *testing.T) {
	// Deeper than the limit of a socket's path.
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20), "data")
	temp := temporaryFiles(t)
	first := start(t, Options{DataDir: dir})
	oldConfig := first.RESTConfig()
	thing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing"}, Data: map[string]string{"a": "b"}}
	if _, err := clientFor(t, oldConfig).CoreV1().ConfigMaps("default").Create(t.Context(), thing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop(t, first)
	if left := entries(t, temp); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}

	second := start(t, Options{DataDir: dir})
	if second.URL() != first.URL() {
		t.Errorf("the server moved from %s to %s although nobody took its port", first.URL(), second.URL())
	}
	got, err := clientFor(t, oldConfig).CoreV1().ConfigMaps("default").Get(t.Context(), "thing", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("read with the credentials of the first run: %v", err)
	}
	if got.Data["a"] != "b" {
		t.Errorf("data is %v", got.Data)
	}
	checkKubeconfig(t, KubeconfigIn(dir))
	checkPrivate(t, dir)
	for _, name := range []string{logFile, logFile + ".1"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	stop(t, second)

	taken, err := listenOn(first.access.port())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	third := start(t, Options{DataDir: dir})
	if third.URL() == first.URL() {
		t.Errorf("the server is on a port that is taken")
	}
	checkKubeconfig(t, KubeconfigIn(dir))
}

func TestSeveralAtOnce(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	var planes [2]*ControlPlane
	var starting sync.WaitGroup
	for i := range planes {
		starting.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cp, err := Start(ctx, Options{Name: fmt.Sprintf("plane-%d", i)})
			if err != nil {
				t.Errorf("start: %v", err)
				return
			}
			planes[i] = cp
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, cp := range planes {
		t.Cleanup(func() { stop(t, cp) })
		name := fmt.Sprintf("only-in-%d", i)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := clientFor(t, cp.RESTConfig()).CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := cp.access.writeKubeconfig(kubeconfig); err != nil {
			t.Fatal(err)
		}
	}
	stranger := planes[0].RESTConfig()
	stranger.Host = planes[1].URL()
	stranger.CAData = planes[1].RESTConfig().CAData
	if _, err := clientFor(t, stranger).Discovery().ServerVersion(); err == nil {
		t.Error("one control plane accepts the administrator of the other")
	}

	stop(t, planes[0])
	client := clientFor(t, planes[1].RESTConfig())
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "only-in-1", metav1.GetOptions{}); err != nil {
		t.Errorf("the second one suffers from the end of the first: %v", err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "only-in-0", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the second one has what belongs to the first: %v", err)
	}
	select {
	case <-planes[1].Done():
		t.Errorf("the second one ended with the first: %v", planes[1].Err())
	default:
	}
}

func TestStopDoesNotWaitForWatches(t *testing.T) {
	cp := start(t, Options{})
	watch, err := clientFor(t, cp.RESTConfig()).CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	const limit = 50 * time.Second // less than a request's lifetime, which is a minute
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := cp.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestStopIsBoundedByItsContext(t *testing.T) {
	cp := start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cp.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stop with a cancelled context: %v", err)
	}
	stop(t, cp) // continues, and is awaited
}

// A server that ends by itself is an error, and the rest can still be stopped.
func TestDeathIsNoticed(t *testing.T) {
	cp := start(t, Options{DataDir: filepath.Join(t.TempDir(), "data")})
	cp.etcd.noteDeath("bad luck") // as a fatal error would
	select {
	case <-cp.Done():
	case <-time.After(patience):
		t.Fatal("nobody notices")
	}
	if err := cp.Err(); err == nil || err.Error() != "etcd exited unexpectedly: bad luck" {
		t.Errorf("the reason is: %v", err)
	}
	stop(t, cp)
	select { // The end of what has died is not awaited for as long as a slow machine may take.
	case <-cp.stopped:
	case <-time.After(patience):
		t.Fatal("the rest does not stop")
	}
	stop(t, start(t, Options{DataDir: cp.DataDir()}))
}

func TestHealth(t *testing.T) {
	cp := start(t, Options{})
	client, err := rest.HTTPClientFor(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		response, err := client.Get(cp.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s", path, response.Status)
		}
	}
}

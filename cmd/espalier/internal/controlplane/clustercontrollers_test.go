// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestClusterControllers(t *testing.T) {
	cp := start(t, Options{ClusterControllers: true})
	client := clientFor(t, cp.RESTConfig())

	t.Run("empty and remove deleted namespaces", func(t *testing.T) {
		makeNamespace(t, client, "doomed")
		makeConfigMap(t, client, "doomed", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "inside"}})
		deleteNamespace(t, client, "doomed")
		eventually(t, "the namespace goes away", func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().Namespaces().Get(ctx, "doomed", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	})
	t.Run("collect what has lost its owner", func(t *testing.T) {
		owner := makeConfigMap(t, client, "default", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}})
		reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
		makeConfigMap(t, client, "default", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "owned", OwnerReferences: []metav1.OwnerReference{reference},
		}})
		if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the owned object goes away", func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().ConfigMaps("default").Get(ctx, "owned", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	})
	t.Run("fill aggregated cluster roles", func(t *testing.T) {
		eventually(t, "the view role gets rules", func(ctx context.Context) (bool, error) {
			role, err := client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
			return err == nil && len(role.Rules) > 0, nil
		})
	})
	t.Run("give each namespace its service account", func(t *testing.T) {
		makeNamespace(t, client, "inhabited")
		eventually(t, "the default service account appears", func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().ServiceAccounts("inhabited").Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil
		})
	})
	t.Run("fill Secrets with tokens", func(t *testing.T) { checkTokenSecret(t, cp) })
}

// checkTokenSecret creates a Secret for a token, and asks the server to whom the Secret's content authenticates.
func checkTokenSecret(t *testing.T, cp *ControlPlane) {
	client := clientFor(t, cp.RESTConfig())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "reader", Annotations: map[string]string{corev1.ServiceAccountNameKey: "reader"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Secret gets a token", func(ctx context.Context) (bool, error) {
		var err error
		secret, err = client.CoreV1().Secrets("default").Get(ctx, "reader", metav1.GetOptions{})
		return err == nil && len(secret.Data[corev1.ServiceAccountTokenKey]) > 0, nil
	})
	reader := clientFor(t, &rest.Config{
		Host:            cp.RESTConfig().Host,
		BearerToken:     string(secret.Data[corev1.ServiceAccountTokenKey]),
		TLSClientConfig: rest.TLSClientConfig{CAData: secret.Data[corev1.ServiceAccountRootCAKey]},
	})
	review, err := reader.AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := review.Status.UserInfo.Username; got != "system:serviceaccount:default:reader" {
		t.Errorf("the owner of the token is %q", got)
	}
}

func TestWithoutClusterControllersNamespacesStay(t *testing.T) {
	client := clientFor(t, start(t, Options{}).RESTConfig())
	makeNamespace(t, client, "doomed")
	deleteNamespace(t, client, "doomed")
	ns, err := client.CoreV1().Namespaces().Get(t.Context(), "doomed", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("phase is %s", ns.Status.Phase)
	}
}

func makeNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func deleteNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if err := client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func makeConfigMap(t *testing.T, client kubernetes.Interface, namespace string, object *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	made, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// account creates a service account with verbs on one pipeline, and returns its name and a token for audiences.
func (w *world) account(name string, verbs []string, audiences ...string) (user, token string) {
	w.Helper()
	meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	w.Create(account)
	if len(verbs) > 0 {
		w.Create(
			&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
				Verbs: verbs, APIGroups: []string{pipelines.GroupName}, Resources: []string{"pipelines"}, ResourceNames: []string{"shop"},
			}}},
			&rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: name}},
			})
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	if err := w.Client().SubResource("token").Create(w.Context(), account, request); err != nil {
		w.Fatal(err)
	}
	return fmt.Sprintf("system:serviceaccount:%s:%s", w.Namespace, name), request.Status.Token
}

func bearer(token string) []string { return []string{"Authorization: Bearer " + token} }

// A token identifies the caller; whether that user may approve depends on a right, and the name is that of the API server.
func TestATokenApprovesInTheNameOfItsUser(t *testing.T) {
	w := newWorld(t)
	shop := w.pipeline("shop", manualNotification(nil))
	w.waits(shop, "prod", "1.2.3", 1)
	path := w.approvalPath(shop, "prod", "1.2.3")
	_, without := w.account("editor", []string{"get", "update", "patch"}, TokenAudience)
	_, elsewhere := w.account("elsewhere", []string{"approve"})
	user, token := w.account("approver", []string{"approve"}, TokenAudience)
	for name, bad := range map[string]string{
		"who has not the right": without, "a token for the API server": elsewhere, "no token": "", "a broken one": token[:len(token)-2],
	} {
		if got := w.post(path, "", bearer(bad)...); got.code != http.StatusUnauthorized {
			t.Errorf("%s: answer is %d", name, got.code)
		}
	}
	if approval := w.approved(shop, "prod"); approval != nil {
		t.Fatalf("recorded is %+v", approval)
	}
	w.expect(w.post(path, "", bearer(token)...), http.StatusNoContent)
	if approval := w.approved(shop, "prod"); approval == nil || approval.By != user || approval.Method != pipelines.ApprovalToken {
		t.Errorf("recorded is %+v, want %s", approval, user)
	}
	w.expect(w.post(path, "", bearer(token)...), http.StatusNoContent)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, secret := range []string{without, elsewhere, token} {
		if strings.Contains(w.log.String(), secret) {
			t.Error("the log has a token")
		}
	}
}

// The right applies only to the pipeline that it names.
func TestATokenIsGoodForItsPipelineAlone(t *testing.T) {
	w := newWorld(t)
	_, token := w.account("approver", []string{"approve"}, TokenAudience)
	blog := w.pipeline("blog", manualNotification(signedBy("key")))
	w.waits(blog, "prod", "1.2.3", 1)
	w.expect(w.post(w.approvalPath(blog, "prod", "1.2.3"), "", bearer(token)...), http.StatusUnauthorized)
	w.expect(w.post(w.approvalPath(blog, "prod", "1.2.3")+"x", "", bearer(token)...), http.StatusUnauthorized)
	if approval := w.approved(blog, "prod"); approval != nil {
		t.Errorf("recorded is %+v", approval)
	}
}

// A quorum requires different callers: the same key, or the same user, counts once.
func TestAQuorumOverHTTP(t *testing.T) {
	w := newWorld(t)
	promotion := manualNotification(signedBy("key"))
	promotion.Approval = &pipelines.ApprovalPolicy{Quorum: 2}
	shop := w.pipeline("shop", promotion)
	w.waits(shop, "prod", "1.2.3", 1)
	path := w.approvalPath(shop, "prod", "1.2.3")
	for range 2 {
		w.expect(w.approve(path), http.StatusNoContent)
		if e := w.read(shop).Status.Environments["prod"]; e.Promotion.State != pipelines.PromotionUnapproved || len(e.Promotion.Approvals) != 1 ||
			e.WaitingApproval.Revision != "1.2.3" {
			t.Fatalf("one key is enough: %+v", e)
		}
	}
	user, token := w.account("approver", []string{"approve"}, TokenAudience)
	w.expect(w.post(path, "", bearer(token)...), http.StatusNoContent)
	given := w.read(shop).Status.Environments["prod"].Promotion
	if given.State != pipelines.PromotionUnattempted || len(given.Approvals) != 2 || given.Approval == nil || given.Approval.By != user {
		t.Errorf("recorded is %+v", given)
	}
}

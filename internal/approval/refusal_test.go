// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func bodySigned(name string, algorithm func() hash.Hash, key, body string) string {
	mac := hmac.New(algorithm, []byte(key))
	mac.Write([]byte(body))
	return "X-Signature: " + name + "=" + hex.EncodeToString(mac.Sum(nil))
}

// forgeries are calls that must all be denied with the same response.
func forgeries(w *world, path string) map[string][]string {
	changed := func(change func(*stamp)) []string {
		s := sign(path)
		change(&s)
		return s.headers()
	}
	good := sign(path).headers()
	return map[string][]string{
		"no signature":              nil,
		"another key":               changed(func(s *stamp) { s.key = "not-" + canary }),
		"another method":            changed(func(s *stamp) { s.method = http.MethodPut }),
		"another revision":          changed(func(s *stamp) { s.path += "4" }),
		"another environment":       changed(func(s *stamp) { s.path = strings.Replace(path, "/prod/", "/staging/", 1) }),
		"another pipeline":          changed(func(s *stamp) { s.path = strings.Replace(path, "/shop/", "/blog/", 1) }),
		"another form of the path":  changed(func(s *stamp) { s.path = strings.Replace(path, "/shop/", "/sh%6fp/", 1) }),
		"too old":                   changed(func(s *stamp) { s.created = time.Now().Add(-signatureWindow - 10*time.Second) }),
		"from the future":           changed(func(s *stamp) { s.created = time.Now().Add(signatureWindow + 10*time.Second) }),
		"expired":                   changed(func(s *stamp) { s.more = fmt.Sprintf(";expires=%d", time.Now().Add(-time.Second).Unix()) }),
		"short nonce":               changed(func(s *stamp) { s.nonce = "1234" }),
		"another tag":               changed(func(s *stamp) { s.more = `;tag="other"` }),
		"another key's name":        changed(func(s *stamp) { s.more = `;keyid="other"` }),
		"another algorithm":         changed(func(s *stamp) { s.more = `;alg="none"` }),
		"unknown parameter":         changed(func(s *stamp) { s.more = `;more="less"` }),
		"input without signature":   good[:1],
		"signature without input":   good[1:],
		"two signatures":            append(sign(path).headers(), good...),
		"malformed signature":       {good[0], "Signature: sig=:not base64:"},
		"malformed input":           {"Signature-Input: sig=()", good[1]},
		"two labels":                {good[0], strings.Replace(good[1], "sig=", "sag=", 1)},
		"the older scheme":          {bodySigned("sha256", sha256.New, canary, "")},
		"the older scheme, garbled": {"X-Signature: sha256"},
	}
}

func TestPIP26_WhoeverCannotProveItIsRefusedAlike(t *testing.T) {
	plain := newWorld(t)
	shop := plain.pipeline("shop", manualNotification(signedBy("key")))
	plain.pipeline("blog", manualNotification(signedBy("key")))
	plain.waits(shop, "prod", "1.2.3", 1)
	path := plain.approvalPath(shop, "prod", "1.2.3")
	want := plain.post(
		strings.Replace(path, "/shop/", "/nowhere/", 1),
		"",
		sign(strings.Replace(path, "/shop/", "/nowhere/", 1)).headers()...)
	plain.expect(want, http.StatusUnauthorized)
	for name, headers := range forgeries(plain, path) {
		t.Run(name, func(t *testing.T) {
			plain.url = plain.serve() // with a fresh limiter
			got := plain.post(path, "", headers...)
			got.header.Del("Date")
			want.header.Del("Date")
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("it is answered differently from an unknown pipeline (-unknown +this):\n%s", diff)
			}
		})
	}
	if now := plain.read(shop); now.ResourceVersion != shop.ResourceVersion || plain.woken() > 0 {
		t.Errorf("a forgery had an effect: %+v", now.Status)
	}
}

func TestPIP26_WithoutAUsableKeyNobodyCanApprove(t *testing.T) {
	w := newWorld(t)
	w.secret("short", "too short")
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "empty"}})
	for name, secret := range map[string]string{
		"none":          "",
		"missing":       "missing",
		"without-entry": "empty",
		"short":         "short",
		"invalid":       "no/such",
	} {
		promotion := manualNotification(signedBy(secret))
		if secret == "" {
			promotion.Strategy.SecretRef = nil
		}
		pipeline := w.pipeline(name, promotion)
		w.waits(pipeline, "prod", "1.2.3", 1)
		call := sign(w.approvalPath(pipeline, "prod", "1.2.3"))
		if secret == "short" {
			call.key = "too short"
		}
		w.expect(w.post(call.path, "", call.headers()...), http.StatusUnauthorized)
		w.expect(w.post(call.path, ""), http.StatusUnauthorized)
		if w.approved(pipeline, "prod") != nil {
			t.Errorf("%s: it is approved", name)
		}
	}
}

// A denial takes the same time for every reason, including those that are found at once.
func TestPIP26_ARefusalTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := NewHandler(Options{Log: logr.Discard()})
		began := time.Now()
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/approval/a/b/c/d", nil)
		request.Header.Set("Signature", "garbled")
		handler.ServeHTTP(recorder, request)
		if took := time.Since(began); recorder.Code != http.StatusUnauthorized || took != defaultRefusalTime {
			t.Errorf("%d after %s", recorder.Code, took)
		}
	})
}

func TestPIP26_TheOlderSchemeNeedsASwitch(t *testing.T) {
	on := func(o *Options) { o.BodySignatures = true }
	for name, algorithm := range bodyAlgorithms {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, on)
			shop := w.pipeline("shop", manualNotification(signedBy("key")))
			w.waits(shop, "prod", "1.2.3", 1)
			path := w.approvalPath(shop, "prod", "1.2.3")
			w.expect(w.post(path, "", bodySigned(name, algorithm, "not-"+canary, "")), http.StatusUnauthorized)
			w.expect(w.post(path, "other", bodySigned(name, algorithm, canary, "")), http.StatusUnauthorized)
			w.expect(w.post(path, "", "X-Signature: "+name+"=zz"), http.StatusUnauthorized)
			w.expect(w.post(path, "", "X-Signature: md5=00"), http.StatusUnauthorized)
			w.expect(w.post(path, ""), http.StatusUnauthorized)
			if w.approved(shop, "prod") != nil {
				t.Fatal("it is approved")
			}
			w.expect(w.post(path, "", bodySigned(name, algorithm, canary, "")), http.StatusNoContent)
			want := &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "key", Method: "LegacyWebhook"}
			if diff := cmp.Diff(want, w.approved(shop, "prod"), cmpopts.IgnoreFields(pipelines.Approval{}, "Time")); diff != "" {
				t.Errorf("what is recorded:\n%s", diff)
			}
		})
	}
	t.Run("a large body", func(t *testing.T) {
		w := newWorld(t, on)
		shop := w.pipeline("shop", manualNotification(signedBy("key")))
		body := strings.Repeat("x", maxBody+1)
		got := w.post(w.approvalPath(shop, "prod", "1.2.3"), body, bodySigned("sha256", sha256.New, canary, body))
		w.expect(got, http.StatusRequestEntityTooLarge)
	})
}

func TestPIP26_UnsignedApprovalsNeedASwitch(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Unsigned = true })
	open, closed := w.pipeline("open", manualNotification(nil)), w.pipeline("closed", manualNotification(signedBy("key")))
	w.waits(open, "prod", "1.2.3", 1)
	w.waits(closed, "prod", "1.2.3", 1)
	w.expect(w.post(w.approvalPath(open, "prod", "1.2.3"), ""), http.StatusNoContent)
	if approval := w.approved(open, "prod"); approval == nil || approval.By != "unsigned" {
		t.Errorf("recorded is %+v", approval)
	}
	// The option applies only to promotions that name no Secret.
	w.expect(w.post(w.approvalPath(closed, "prod", "1.2.3"), ""), http.StatusUnauthorized)
}

func TestPIP26_TheKeyAppearsNowhere(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.BodySignatures = true })
	shop := w.pipeline("shop", manualNotification(signedBy("key")))
	w.waits(shop, "prod", "1.2.3", 1)
	path := w.approvalPath(shop, "prod", "1.2.3")
	var seen strings.Builder
	for name, headers := range forgeries(w, path) {
		w.url = w.serve(func(o *Options) { o.BodySignatures = true })
		fmt.Fprintf(&seen, "%s: %+v\n", name, w.post(path, "x", headers...))
	}
	fmt.Fprintf(&seen, "good: %+v\n", w.approve(path))
	fmt.Fprintf(
		&seen,
		"event: %+v\n",
		w.post("/promotion/"+w.Namespace+"/shop/dev", event(shop, "dev"), bodySigned("sha256", sha256.New, canary, event(shop, "dev"))),
	)
	stored, err := json.Marshal(w.read(shop))
	if err != nil {
		t.Fatal(err)
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var events corev1.EventList
	if err := w.Client().List(t.Context(), &events, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	k := key{secret: "key", bytes: []byte(canary)}
	asJSON, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %x %s", k, k, k, k, k, asJSON)
	for where, text := range map[string]string{
		"answers":    seen.String(),
		"the log":    w.logged(),
		"the status": string(stored),
		"metrics":    fmt.Sprint(families),
		"events":     fmt.Sprint(events),
		"print":      printed,
	} {
		if strings.Contains(text, canary) || strings.Contains(text, hex.EncodeToString([]byte(canary))) {
			t.Errorf("the key is in %s:\n%s", where, text)
		}
	}
	if !strings.Contains(w.logged(), "Call rejected") || !strings.Contains(seen.String(), "signature missing or wrong") {
		t.Error("nothing was looked at")
	}
}

// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"
)

// approvalKey is the key in all Secrets for approvals.
const approvalKey = "0123456789abcdef0123456789abcdef"

// webhookKey is the key with which the Git server signs its calls.
const webhookKey = "fedcba9876543210fedcba9876543210"

// approve makes the signed call that docs/approvals.md describes.
func (w *world) approve(name, environment, revision string) *http.Response {
	w.Helper()
	return w.signed(fmt.Sprintf("/approval/%s/%s/%s/%s", w.Namespace, name, environment, revision))
}

func (w *world) signed(path string) *http.Response {
	w.Helper()
	input := fmt.Sprintf(`("@method" "@path");created=%d;nonce="%s";tag="espalier"`, time.Now().Unix(), rand.Text())
	mac := hmac.New(sha256.New, []byte(approvalKey))
	fmt.Fprintf(mac, "\"@method\": POST\n\"@path\": %s\n\"@signature-params\": %s", path, input)
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.approvals+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Signature-Input", "sig="+input)
	request.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+":")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

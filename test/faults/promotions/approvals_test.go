// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/test/faults/promotions/invariant"
)

// approvalKey is the key that signs approvals.
const approvalKey = "a-key-of-more-than-thirty-two-bytes-for-tests"

// Approvals: a user clicks twice, the call is repeated by somebody else, including for the next revision; and then by annotation, twice.

func ask(s *scene) {
	s.deploy("dev", "1.1.0", true)
	s.deploy("prod", "1.0.0", true)
	p := s.pipeline("dev", "prod").Notification().Manual().Build()
	p.Spec.Promotion.Strategy.SecretRef = &pipelines.LocalObjectReference{Name: "key"}
	s.create(p)
	s.reaches("prod", "1.1.0", pipelines.PromotionUnapproved)
	s.rest("asked")
}

func click(s *scene) {
	s.approve("1.1.0")
	var both sync.WaitGroup
	for _, nonce := range []string{"click-1", "click-2"} {
		both.Go(func() { s.clickUntilTaken("1.1.0", nonce) })
	}
	both.Wait()
	s.reaches("prod", "1.1.0", pipelines.PromotionSucceeded)
	s.send(s.signed("1.1.0", "click-1"))
	s.rest("approved")
	s.sent("1.1.0")
}

func askAgain(s *scene) {
	s.deploy("prod", "1.1.0", true)
	s.reaches("prod", "1.1.0", pipelines.PromotionComplete)
	s.deploy("dev", "1.2.0", true)
	s.reaches("prod", "1.2.0", pipelines.PromotionUnapproved)
	// An eavesdropper repeats the call, also for another revision.
	s.send(s.signed("1.1.0", "click-1"))
	stolen := s.signed("1.1.0", "click-2")
	stolen.URL.Path = s.approvalPath("1.2.0")
	s.send(stolen)
	s.annotate("late", "1.1.0")
	s.until("answered", func(p *pipelines.Pipeline) bool { return len(p.Status.Requests) == 1 && len(p.Annotations) == 0 })
	s.rest("asked again")
}

func request(s *scene) {
	s.approve("1.2.0")
	s.annotate("first", "1.2.0")
	s.reaches("prod", "1.2.0", pipelines.PromotionSucceeded)
	for _, id := range []string{"second", "first"} {
		s.annotate(id, "1.2.0")
		s.until("answered "+id, func(p *pipelines.Pipeline) bool { return len(p.Annotations) == 0 && answered(p, id) })
	}
	s.rest("approved again")
	s.sent("1.2.0")
}

func answered(p *pipelines.Pipeline, id string) bool {
	for _, request := range p.Status.Requests {
		if request.ID == id {
			return true
		}
	}
	return false
}

// approve records that a user wants the revision, before anything is sent.
func (s *scene) approve(revision string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.approved[invariant.Approval{Environment: "prod", Revision: revision}] = true
}

// annotate approves by annotation, as the command line does.
func (s *scene) annotate(id, revision string) {
	s.t.Helper()
	name, value := pipeline.Request{
		ID: id, Action: pipelines.RequestApprove, Environment: "prod", Revision: revision, By: "ann", Time: metav1.Now().Time,
	}.Text()
	if err := s.Client().Patch(s.t.Context(), s.stub(), mergePatch(`{"metadata":{"annotations":{%q:%q}}}`, name, value)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) approvalPath(revision string) string {
	return fmt.Sprintf("/approval/%s/%s/prod/%s", s.namespace, pipelineName, revision)
}

// signed returns the call that approves a revision.
func (s *scene) signed(revision, nonce string) *http.Request {
	nonce = base64.RawURLEncoding.EncodeToString([]byte("nonce-of-a-" + nonce + "-in-" + s.namespace))
	input := fmt.Sprintf(`("@method" "@path");created=%d;nonce="%s";tag="espalier"`, time.Now().Unix(), nonce)
	mac := hmac.New(sha256.New, []byte(approvalKey))
	fmt.Fprintf(mac, "\"@method\": POST\n\"@path\": %s\n\"@signature-params\": %s", s.approvalPath(revision), input)
	r, err := http.NewRequestWithContext(
		context.WithoutCancel(s.t.Context()),
		http.MethodPost,
		"http://"+s.approval+s.approvalPath(revision),
		nil,
	)
	if err != nil {
		s.t.Errorf("make the call: %v", err)
		return nil
	}
	r.Header.Set("Signature-Input", "sig="+input)
	r.Header.Set("Signature", "sig=:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+":")
	return r
}

// send makes a call and returns the status code of the answer; 0 if there was none.
func (s *scene) send(r *http.Request) int {
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// clickUntilTaken repeats a call with the same nonce until it is answered, like an impatient user.
func (s *scene) clickUntilTaken(revision, nonce string) {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	ctx, cancel := context.WithTimeout(s.t.Context(), testkit.Patience)
	defer cancel()
	for {
		if code := s.send(s.signed(revision, nonce)); code != 0 && code < http.StatusInternalServerError && code != http.StatusTooManyRequests {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			s.t.Errorf("nobody takes the approval of %s", revision)
			return
		}
	}
}

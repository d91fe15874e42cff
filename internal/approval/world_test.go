// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The key of all tests. It must appear nowhere but in its Secret.
const canary = "CANARY-5f0c1d2e-key-of-more-than-32-bytes"

// world is a namespace with a key, and a server that uses real HTTP.
type world struct {
	*testkit.World
	url string

	mutex sync.Mutex
	wakes []types.NamespacedName
	log   bytes.Buffer
}

// newWorld starts a server without delays, unless changed sets them.
func newWorld(t *testing.T, changed ...func(*Options)) *world {
	t.Helper()
	w := &world{World: testkit.NewWorld(t)}
	w.url = w.serve(changed...)
	w.secret("key", canary)
	return w
}

// serve starts one more server for the same world, like another replica.
func (w *world) serve(changed ...func(*Options)) string {
	w.Helper()
	opts := Options{
		Client: w.Client(), Wake: w.wake, RefusalTime: time.Nanosecond, LocationPatience: time.Nanosecond,
		Log: funcr.New(func(prefix, args string) { w.note(prefix + args + "\n") }, funcr.Options{Verbosity: 10}),
	}
	for _, change := range changed {
		change(&opts)
	}
	server, err := New(opts)
	if err != nil {
		w.Fatal(err)
	}
	address, _ := testkit.Serve(w.T, server.Serve)
	return "http://" + address.String()
}

func (w *world) wake(name types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.wakes = append(w.wakes, name)
}

func (w *world) woken() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.wakes)
}

func (w *world) note(text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.log.WriteString(text)
}

func (w *world) secret(name, value string) {
	w.Helper()
	w.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Data:       map[string][]byte{keyEntry: []byte(value), hookEntry: []byte(hookSecret)},
	})
}

func signedBy(secret string) *pipelines.LocalObjectReference {
	return &pipelines.LocalObjectReference{Name: secret}
}

func manualNotification(secret *pipelines.LocalObjectReference) pipelines.Promotion {
	return pipelines.Promotion{Manual: true, Strategy: pipelines.Strategy{Notification: &pipelines.NotificationStrategy{}, SecretRef: secret}}
}

func manualPullRequest(secret *pipelines.LocalObjectReference) pipelines.Promotion {
	return pipelines.Promotion{Manual: true, Strategy: pipelines.Strategy{SecretRef: secret, PullRequest: &pipelines.PullRequestStrategy{
		Type:       pipelines.GitProviderGitHub,
		URL:        "https://git.example/shop",
		BaseBranch: "main",
		SecretRef:  pipelines.LocalObjectReference{Name: "git"},
	}}}
}

// pipeline stores a pipeline from dev through staging to prod, with a promotion block.
func (w *world) pipeline(name string, promotion pipelines.Promotion) *pipelines.Pipeline {
	w.Helper()
	pipeline := testkit.Pipeline(w.Namespace, name).
		Environment("dev", "dev").
		Environment("staging", "staging").
		Environment("prod", "prod").
		Build()
	pipeline.Spec.Promotion = &promotion
	w.Create(pipeline)
	return pipeline
}

// waits makes a promotion to an environment wait for approval in the given run.
func (w *world) waits(pipeline *pipelines.Pipeline, environment, revision string, run int64) {
	w.Helper()
	w.update(pipeline, func(status *pipelines.PipelineStatus) {
		now := metav1.Now()
		status.LatestRevision = revision
		status.Run = &pipelines.Run{Number: run, Revision: revision, StartTime: now}
		if status.Environments == nil {
			status.Environments = map[string]pipelines.EnvironmentStatus{}
		}
		e := status.Environments[environment]
		if e.Promotion != nil {
			e.History = append([]pipelines.PromotionStatus{*e.Promotion}, e.History...)
		}
		e.WaitingApproval.Revision = revision
		e.Promotion = &pipelines.PromotionStatus{Revision: revision, Run: run, State: pipelines.PromotionUnapproved, StartTime: now}
		status.Environments[environment] = e
	})
}

// update changes the status like the controller, despite concurrent writes of the server.
func (w *world) update(pipeline *pipelines.Pipeline, change func(*pipelines.PipelineStatus)) {
	w.Helper()
	current := w.read(pipeline)
	change(&current.Status)
	if err := w.Client().Status().Update(w.Context(), current); err != nil {
		w.Fatal(err)
	}
	current.DeepCopyInto(pipeline)
}

func (w *world) read(pipeline *pipelines.Pipeline) *pipelines.Pipeline {
	w.Helper()
	current := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: pipeline.Namespace, Name: pipeline.Name}}
	if !w.Read(current) {
		w.Fatalf("pipeline %s does not exist", pipeline.Name)
	}
	return current
}

// approved returns the approval in the status.
func (w *world) approved(pipeline *pipelines.Pipeline, environment string) *pipelines.Approval {
	w.Helper()
	promotion := w.read(pipeline).Status.Environments[environment].Promotion
	if promotion == nil {
		return nil
	}
	return promotion.Approval
}

func (w *world) approvalPath(pipeline *pipelines.Pipeline, environment, revision string) string {
	return fmt.Sprintf("/approval/%s/%s/%s/%s", w.Namespace, pipeline.Name, environment, revision)
}

// answer is the response that a caller sees.
type answer struct {
	code   int
	body   string
	header http.Header
}

// post makes a call; each header is "name: value".
func (w *world) post(path, body string, headers ...string) answer {
	w.Helper()
	got, err := w.send(http.MethodPost, w.url+path, body, headers...)
	if err != nil {
		w.Fatal(err)
	}
	return got
}

func (w *world) send(method, url, body string, headers ...string) (answer, error) {
	request, err := http.NewRequestWithContext(w.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Add(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{code: response.StatusCode, body: string(text), header: response.Header}, err
}

// stamp is a signature under construction, as docs/approvals.md describes it for shells.
type stamp struct {
	key, method, path string
	created           time.Time
	nonce             string
	// more follows the usual parameters.
	more string
}

func sign(path string) stamp {
	return stamp{key: canary, method: http.MethodPost, path: path, created: time.Now(), nonce: freshNonce()}
}

func freshNonce() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw)
	return hex.EncodeToString(raw)
}

func (s stamp) input() string {
	return fmt.Sprintf(`("@method" "@path");created=%d;nonce="%s";tag="espalier"%s`, s.created.Unix(), s.nonce, s.more)
}

func (s stamp) headers() []string {
	mac := hmac.New(sha256.New, []byte(s.key))
	fmt.Fprintf(mac, "\"@method\": %s\n\"@path\": %s\n\"@signature-params\": %s", s.method, s.path, s.input())
	return []string{"Signature-Input: sig=" + s.input(), "Signature: sig=:" + base64.StdEncoding.EncodeToString(mac.Sum(nil)) + ":"}
}

func (s stamp) header() http.Header {
	header := http.Header{}
	for _, line := range s.headers() {
		name, value, _ := strings.Cut(line, ": ")
		header.Add(name, value)
	}
	return header
}

func (w *world) approve(path string) answer {
	w.Helper()
	return w.post(path, "", sign(path).headers()...)
}

func (w *world) expect(got answer, code int) {
	w.Helper()
	if got.code != code {
		w.Errorf("answer is %d %q, want %d\nlog:\n%s", got.code, got.body, code, w.logged())
	}
}

func (w *world) logged() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.log.String()
}

// hookSecret is the secret of Git servers, in every Secret of these tests. It is valid for nothing else.
const hookSecret = canary + "-for-webhooks"

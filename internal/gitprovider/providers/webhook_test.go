// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
)

var hookSecret = []byte("hook-secret")

func signature(body string, secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// hook is how a provider calls a webhook.
type hook struct {
	kind v1alpha1.GitProviderType
	// event sets what happened, in a header, or for Azure DevOps in the body.
	event, otherEvent func(http.Header, string) (http.Header, string)
	// prove adds the proof that the caller knows the secret.
	prove func(header http.Header, body string, secret []byte)
	body  string
	want  string
}

func inHeader(name, value string) func(http.Header, string) (http.Header, string) {
	return func(header http.Header, body string) (http.Header, string) {
		header.Set(name, value)
		return header, body
	}
}

func inBody(value string) func(http.Header, string) (http.Header, string) {
	return func(header http.Header, body string) (http.Header, string) {
		return header, strings.Replace(body, "EVENT", value, 1)
	}
}

func signedIn(name, prefix string) func(http.Header, string, []byte) {
	return func(header http.Header, body string, secret []byte) { header.Set(name, prefix+signature(body, secret)) }
}

var hooks = map[string]hook{
	"GitHub": {
		kind:       gitHub,
		event:      inHeader("X-GitHub-Event", "pull_request"),
		otherEvent: inHeader("X-GitHub-Event", "ping"),
		prove:      signedIn("X-Hub-Signature-256", "sha256="),
		body:       `{"action":"closed","number":7,"pull_request":{"id":1,"number":7,"merged":true},"repository":{"id":1,"full_name":"Acme/shop","html_url":"https://github.com/Acme/shop"}}`,
		want:       "github.com/acme/shop",
	},
	"GitLab": {
		kind:       gitLab,
		event:      inHeader("X-Gitlab-Event", "Merge Request Hook"),
		otherEvent: inHeader("X-Gitlab-Event", "Push Hook"),
		prove:      func(header http.Header, _ string, secret []byte) { header.Set("X-Gitlab-Token", string(secret)) },
		body:       `{"object_kind":"merge_request","project":{"id":1,"path_with_namespace":"acme/web/shop","web_url":"http://gitlab.example.com/acme/web/shop"},"object_attributes":{"id":99,"iid":7,"action":"merge"}}`,
		want:       "gitlab.example.com/acme/web/shop",
	},
	"Gitea": {
		kind:       giteaKind,
		event:      inHeader("X-Gitea-Event", "pull_request"),
		otherEvent: inHeader("X-Gitea-Event", "push"),
		prove:      signedIn("X-Gitea-Signature", ""),
		body:       `{"action":"closed","number":7,"pull_request":{"id":1,"number":7},"repository":{"full_name":"acme/shop","html_url":"https://gitea.example.com/git/acme/shop"}}`,
		want:       "gitea.example.com/git/acme/shop",
	},
	"Forgejo": {
		kind:       giteaKind,
		event:      inHeader("X-Forgejo-Event", "pull_request"),
		otherEvent: inHeader("X-Forgejo-Event", "create"),
		prove:      signedIn("X-Forgejo-Signature", ""),
		body:       `{"action":"reviewed","pull_request":{"id":1,"number":7},"repository":{"full_name":"acme/shop","html_url":"https://codeberg.org/acme/shop"}}`,
		want:       "codeberg.org/acme/shop",
	},
	"Bitbucket Server": {
		kind:       bitbucket,
		event:      inHeader("X-Event-Key", "pr:merged"),
		otherEvent: inHeader("X-Event-Key", "diagnostics:ping"),
		prove:      signedIn("X-Hub-Signature", "sha256="),
		body:       `{"eventKey":"pr:merged","actor":{"name":"ada"},"pullRequest":{"id":7,"version":2,"state":"MERGED","fromRef":{"id":"refs/heads/x","repository":{"slug":"fork","id":9,"project":{"key":"OTHER"}}},"toRef":{"id":"refs/heads/main","repository":{"slug":"shop","id":8,"project":{"key":"PROJ"}}}}}`,
		want:       "proj/shop",
	},
	"Azure DevOps": {
		kind:       azure,
		event:      inBody("git.pullrequest.updated"),
		otherEvent: inBody("git.push"),
		prove: func(header http.Header, _ string, secret []byte) {
			header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("anybody:"+string(secret))))
		},
		body: `{"eventType":"EVENT","publisherId":"tfs","resource":{"pullRequestId":7,"status":"completed","repository":{"name":"shop","remoteUrl":"https://acme@dev.azure.com/acme/Web%20Team/_git/shop"}}}`,
		want: "dev.azure.com/acme/web team/shop",
	},
}

// call returns the result of a call with this event.
func (h hook) call(event func(http.Header, string) (http.Header, string), secret []byte) (gitprovider.Event, error) {
	header, body := event(http.Header{}, h.body)
	h.prove(header, body, secret)
	return providers.ParseWebhook(h.kind, header, []byte(body), hookSecret)
}

func TestPIP22_WebhooksNameTheirPullRequest(t *testing.T) {
	for name, h := range hooks {
		t.Run(name, func(t *testing.T) {
			event, err := h.call(h.event, hookSecret)
			if err != nil || event.Number != 7 || event.Repository.String() != h.want {
				t.Errorf("event %+v, %v", event, err)
			}
			if event, err := h.call(h.otherEvent, hookSecret); !errors.Is(err, gitprovider.ErrIgnored) {
				t.Errorf("another event is %+v, %v", event, err)
			}
		})
	}
}

func TestWebhooksWithoutTheSecretAreRejected(t *testing.T) {
	for name, h := range hooks {
		t.Run(name, func(t *testing.T) {
			for what, secret := range map[string][]byte{
				"another secret": []byte("wrong"),
				"no secret":      nil,
				"a longer one":   []byte("hook-secret-"),
			} {
				if event, err := h.call(h.event, secret); !errors.Is(err, gitprovider.ErrUnsigned) {
					t.Errorf("%s: %+v, %v", what, event, err)
				}
			}
			header, body := h.event(http.Header{}, h.body)
			if _, err := providers.ParseWebhook(h.kind, header, []byte(body), hookSecret); !errors.Is(err, gitprovider.ErrUnsigned) {
				t.Errorf("no proof: %v", err)
			}
			h.prove(header, body, nil)
			if _, err := providers.ParseWebhook(h.kind, header, []byte(body), nil); !errors.Is(err, gitprovider.ErrUnsigned) {
				t.Errorf("a webhook without a secret believes everybody: %v", err)
			}
		})
	}
}

func TestASignatureHoldsForOneBody(t *testing.T) {
	for _, name := range []string{"GitHub", "Gitea", "Forgejo", "Bitbucket Server"} {
		h := hooks[name]
		header, body := h.event(http.Header{}, h.body)
		h.prove(header, body, hookSecret)
		forged := strings.Replace(body, "7", "8", 1)
		if _, err := providers.ParseWebhook(h.kind, header, []byte(forged), hookSecret); !errors.Is(err, gitprovider.ErrUnsigned) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWebhooksThatMakeNoSenseAreUnreadable(t *testing.T) {
	bodies := []string{
		"",
		"{",
		"null",
		"[]",
		`{}`,
		`{"eventType":"git.pullrequest.merged"}`,
		`{"eventType":"git.pullrequest.merged","resource":"x"}`,
		`{"number":"7"}`,
		`{"number":-7,"repository":{"html_url":"https://github.com/a/b"}}`,
		`{"number":7,"repository":{"html_url":"javascript:alert(1)"}}`,
		`{"pullRequest":{"id":7,"toRef":{"repository":null}}}`,
		`{"object_attributes":{"iid":7},"project":null}`,
	}
	for name, h := range hooks {
		for _, body := range bodies {
			header, _ := h.event(http.Header{}, "")
			h.prove(header, body, hookSecret)
			event, err := providers.ParseWebhook(h.kind, header, []byte(body), hookSecret)
			ignored := h.kind == azure && errors.Is(err, gitprovider.ErrIgnored)
			if !errors.Is(err, gitprovider.ErrUnreadable) && !ignored {
				t.Errorf("%s: body %q is %+v, %v", name, body, event, err)
			}
		}
	}
}

func FuzzParseWebhook(f *testing.F) {
	for _, h := range hooks {
		_, body := h.event(http.Header{}, h.body)
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, h := range hooks {
			header, _ := h.event(http.Header{}, "")
			h.prove(header, string(body), hookSecret)
			event, err := providers.ParseWebhook(h.kind, header, body, hookSecret)
			switch {
			case err == nil && (event.Number <= 0 && event.Commit == "" || event.Repository.Path == ""):
				t.Errorf("%s: %+v", name, event)
			case err != nil && !errors.Is(err, gitprovider.ErrUnreadable) && !errors.Is(err, gitprovider.ErrIgnored):
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
